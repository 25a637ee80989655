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
--@include queue_page queue_trim
  are_checked, queue_rules, rules, group_paused_until = true, q.rules_text, q.rules, q.paused_until -- checked above
  if q.trims then
    trim()
  end
  q.reached_bound = q.back > 0 and plan_ended('100') == 100
  if q.due > 0 then
    local due = redis.call('ZRANGE', delayed_key, '-inf', instant, 'BYSCORE', 'LIMIT', '0', '500', 'WITHSCORES')
    for k = 1, #due, 2 do
      local score = due[k]:sub(1, 1) .. due[k + 1]
      if not tonumber(score) then
        foreign('a delayed member that is not a message')
      end
      if #due[k] > 18 then
--@include receive_due
      else
        plan('ZADD', ready_key, score, due[k])
      end
      plan('ZREM', delayed_key, due[k])
    end
    q.reached_bound = q.reached_bound or #due == 1000
  end
  if q.unholds then
    for _, held in ipairs(redis.call('ZRANGE', groups_key, '0', instant, 'BYSCORE', 'LIMIT', '0', '100')) do
      plan('ZREM', groups_key, held)
      plan('ZREM', busy_key, held:sub(2) .. HELD)
      touch(held:sub(2))
    end
  end
  if touched[1] or q.trims then
    check_groups()
  end
  q.change = function()
    commit(true)
    if q.trims then -- once it is known where the messages are
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
