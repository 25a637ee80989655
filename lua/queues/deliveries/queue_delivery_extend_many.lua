-- queue_delivery_extend_many: gives deliveries more time, each as queue_delivery_extend would, all
-- counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 visibility_ms (-1: the queue's); then two per delivery, no two the same: sequence, nonce
--@reply 0..: visible_until_ms int, outcomes int...
-- The outcome of the reply is how many were extended. outcomes are in the order of ARGV: 1
-- extended; 2 cancelled: its message was cancelled, and the delivery ends; 0 no longer current. A
-- delivery that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_delivery
--@flags allow-oom
local EXTENDED, CANCELLED, NOT_CURRENT = 1, 2, 0
local fields = {}
for i = 2, #ARGV, 2 do
  fields[i / 2] = ARGV[i] .. 's'
end
local states = redis.call('HMGET', queue_key, unpack(fields))
local visibility_ms = tonumber(ARGV[1])
if visibility_ms < 0 then
  visibility_ms = setting('visibility_ms')
end
local visible_until = now + visibility_ms
local reply = { 0, now, visible_until }
for i, state in ipairs(states) do
  local m, is_cancelled = current_delivery(ARGV[2 * i], ARGV[2 * i + 1], state)
  if m then
    m.ends = digits(visible_until)
    plan('ZADD', flight_key, m.ends, m.member)
    plan('HSET', queue_key, fields[i], state_of(m))
    comes_sooner = comes_sooner or visible_until < m.at
    reply[1] = reply[1] + 1
  end
  reply[#reply + 1] = m and EXTENDED or is_cancelled and CANCELLED or NOT_CURRENT
end
commit()
return reply
