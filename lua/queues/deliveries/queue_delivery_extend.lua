-- queue_delivery_extend: gives a current delivery more time, counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: the halves of the receipt, 3 visibility_ms (-1: the queue's), 4
--       progress as it is stored (queues/lib_queue.lua), '' keeps it
--@reply 1: id text, visible_until_ms int
--@reply -1 stale, -2 cancelled
-- stale: the delivery is no longer current. cancelled: its message was cancelled, and the delivery
-- ends. A replay returns the present visible_until_ms, while the delivery is current.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue
--@flags allow-oom
--@idempotent proof
local field, nonce = ARGV[1] .. 's', ARGV[2]
local stored = redis.call('HMGET', queue_key, field, 'layout', 'visibility_ms', 'full')
local state, layout, is_full = stored[1], stored[2], stored[4]
--@include queue_layout
local visibility_ms = tonumber(ARGV[3])
if visibility_ms < 0 then
  visibility_ms = tonumber(stored[3] or 30000)
end
local is_current = state and state:sub(1, 16) == nonce and state:sub(17, 29) > instant
if not granted and not is_current then
  return { -1, now }
elseif is_current and not granted and ARGV[4] == '' and visibility_ms and not is_full and state:sub(30, 30) ~= 'd' then
  local ends = digits(now + visibility_ms)
--@include queue_extend_usual
  if is_usual then
    redis.call('ZADD', flight_key, ends, field .. group)
    redis.call('HSET', queue_key, field, nonce .. ends .. state:sub(30))
    return { 1, now, id ~= '' and id or ARGV[1], now + visibility_ms }, true, visibility_ms
  end
end
--@otherwise queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_delivery
local m, is_cancelled = current_delivery(ARGV[1], nonce, state)
if granted then
  granted[4] = m and m.at
  return m and granted
elseif not m then
  commit()
  return { is_cancelled and -2 or -1, now }
end
visibility_ms = visibility_ms or setting('visibility_ms') -- which refuses what is not a number
local visible_until = now + visibility_ms
m.ends = digits(visible_until)
if ARGV[4] ~= '' then
  m.progress = ARGV[4]
end
plan('ZADD', flight_key, m.ends, m.member)
plan('HSET', queue_key, m.seq .. 's', state_of(m))
comes_sooner = visible_until < m.at
commit()
return { 1, now, id_of(m), visible_until }, true, visibility_ms
