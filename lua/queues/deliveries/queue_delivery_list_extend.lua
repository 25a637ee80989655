-- queue_delivery_list_extend: gives deliveries more time, each as queue_delivery_extend would, all
-- counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 visibility_ms (-1: the queue's); then two per delivery, no two the same: sequence, nonce
--@reply 0..: visible_until_ms int, outcomes int...
-- The outcome of the reply is how many were extended. outcomes are in the order of ARGV: 1
-- extended; 2 cancelled: its message was cancelled, and the delivery ends; 0 no longer current. A
-- delivery that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time queue
--@flags allow-oom
local EXTENDED, CANCELLED, NOT_CURRENT = 1, 2, 0
local fields, count = {}, (#ARGV - 1) / 2
for i = 1, count do
  fields[i] = ARGV[2 * i] .. 's'
end
fields[count + 1], fields[count + 2], fields[count + 3] = 'layout', 'visibility_ms', 'full'
local states = redis.call('HMGET', queue_key, unpack(fields))
local layout, is_full = states[count + 1], states[count + 3]
--@include queue_layout
local visibility_ms = tonumber(ARGV[1])
if visibility_ms < 0 then
  visibility_ms = tonumber(states[count + 2] or 30000)
end
local visible_until = now + (visibility_ms or 0)
local ends, are_usual = digits(visible_until), visibility_ms and not is_full
local reply, flight, changed = { 0, now, visible_until }, {}, {}
for i = 1, are_usual and count or 0 do
  local state = states[i]
  reply[i + 3] = NOT_CURRENT
  if state and state:sub(1, 16) == ARGV[2 * i + 1] and state:sub(17, 29) > instant then
--@include queue_extend_usual
    are_usual = is_usual and state:sub(30, 30) ~= 'd'
    if not are_usual then
      break
    end
    reply[1], reply[i + 3] = reply[1] + 1, EXTENDED
    flight[#flight + 1], flight[#flight + 2] = ends, fields[i] .. group
    changed[#changed + 1], changed[#changed + 2] = fields[i], state:sub(1, 16) .. ends .. state:sub(30)
  end
end
if are_usual and flight[1] then
  redis.call('ZADD', flight_key, unpack(flight))
  redis.call('HSET', queue_key, unpack(changed))
end
if are_usual then
  return reply
end

--@otherwise queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_delivery
visible_until = now + (visibility_ms or setting('visibility_ms')) -- which refuses what is not a number
reply = { 0, now, visible_until }
for i = 1, count do
  local state = states[i]
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
