-- Second: reads what time has changed in queue `i`, and its wait queue; `q.change` writes that.
-- This part must not know what the queue will hand out. Needs the variables of
-- queue_message_receive.
local q = queues[i]
if q.is_awaited then
--@include waiters
  local w = waiters_read(queue_key, waiters_key, now, ticket)
  q.w = w
  q.has_turn = ticket == '' or w.is_called or waiters_is_next(w, clock[1] * 1000000 + clock[2], ARGV[7] + 0)
end
if q.trims or q.due > 0 or q.back > 0 or q.fires or q.unholds then
--@include queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_due queue_page queue_trim
  are_checked, queue_rules, rules, group_paused_until = true, q.rules_text, q.rules, q.paused_until -- checked above
  local has_timed = q.trims and trim()
  q.reached_bound = q.back > 0 and plan_ended('100') == 100
  if q.due > 0 then
    q.reached_bound = plan_due('500') == 500 or q.reached_bound
  end
  if q.unholds then
    plan_unheld()
  end
  if touched[1] or has_timed then
    check_groups()
  end
  q.change = function()
    commit(true)
    if has_timed then -- once it is known where the messages are
--@include queue_find queue_ttl
      if plan_past_ttl('100') == 100 then
        plan('HSET', queue_key, 'trim_at', '0')
      end
      commit(true)
    end
    if q.fires then
--@include queue_recurrence queue_schedule queue_leap queue_store queue_fire
      local fired
      fired, q.schedule_at = fire_due()
      q.reached_bound = q.reached_bound or fired == 50
    end
  end
end
