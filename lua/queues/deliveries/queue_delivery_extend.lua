-- queue_delivery_extend: gives a current delivery more time, counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: the halves of the receipt, 3 visibility_ms (-1: the queue's), 4
--       progress as it is stored (queues/lib_queue.lua), '' keeps it
--@reply 1: id text, visible_until_ms int
--@reply -1 stale, -2 cancelled
-- stale: the delivery is no longer current. cancelled: its message was cancelled, and the delivery
-- ends. A replay returns the present visible_until_ms, while the delivery is current.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_delivery
--@flags allow-oom
--@idempotent proof
local m, is_cancelled = current_delivery(ARGV[1], ARGV[2], redis.call('HGET', queue_key, ARGV[1] .. 's'))
if granted then
  granted[4] = m and m.at
  return m and granted
elseif not m then
  commit()
  return { is_cancelled and -2 or -1, now }
end
local visibility_ms = tonumber(ARGV[3])
if visibility_ms < 0 then
  visibility_ms = setting('visibility_ms')
end
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
