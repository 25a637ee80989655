-- First: whether queue `i` has more to do than hand out messages. Nothing is written yet. This part
-- must not know which messages are ready. Needs the variables of queue_message_receive.
if must_exist and redis.call('EXISTS', queue_key) == 0 then
  return { -1, now, i }
elseif ARGV[8] == '2' then
  return reply
end
local settings = redis.call('HMGET', queue_key, 'paused', 'visibility_ms', 'trim_at', 'schedule_at', 'layout',
  'rules', 'group_paused_until')
local layout = settings[5]
--@include queue_layout
local visibility_ms = given_visibility_ms
if visibility_ms < 0 then
  visibility_ms = tonumber(settings[2] or 30000)
end
local due = redis.call('ZCOUNT', delayed_key, '-inf', instant)
local back = redis.call('ZCOUNT', flight_key, '0', instant)
local trims = (not settings[3] or settings[3] <= instant)
  and redis.call('EXISTS', flight_key, dead_key, done_key, groups_key) > 0
local q = {
  is_paused = settings[1] == '1', schedule_at = settings[4] and tonumber(settings[4]), room = most, paused_until = 0,
  visible_until = now + (visibility_ms or 0), due = due, back = back, trims = trims,
  members = { nil }, flight = { nil, nil }, states = { nil, nil }, -- nil: room for one, cheaper than growth
  is_awaited = redis.call('ZCARD', waiters_key) > 0,
}
q.fires = not q.is_paused and q.schedule_at and q.schedule_at <= now
queues[i] = q
if settings[6] or settings[7] then
--@include receive_rules
end
if visibility_ms and visibility_ms > lasts_ms then
  lasts_ms = visibility_ms
end
if trims or q.fires or q.unholds or due > 0 or back > 0 or acknowledges or queue_count > 1 or not visibility_ms then
--@include queue_types
  check_types()
  if not visibility_ms then
    foreign('a hash that is not a queue')
  end
end
