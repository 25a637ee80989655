-- queue_delivery_settle: ends many deliveries, each as queue_delivery_acknowledge or
-- queue_delivery_reject would, one after another. It stores no results: queue_delivery_complete
-- does, while Redis has memory.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 how many are acknowledged, 2 how many have a result; then for each acknowledged delivery
--       sequence, nonce; for each with a result sequence, nonce, result; for each rejected one
--       sequence, nonce, delay_ms, reason and kind, the arguments 3 to 5 of queue_delivery_reject;
--       last 'late': all as for queue_delivery_acknowledge; else absent
--@reply 0..: outcomes int...
-- The outcome of the reply is how many deliveries had an effect. outcomes are in the order of ARGV:
-- 1 acknowledged (also when this delivery was acknowledged within the last 150 s); 2 rejected; 6
-- rejected, and some message of this call is dead in a queue with a dead_letter_queue; 3
-- acknowledged, and its result is kept; 4 cancelled: its message was cancelled, and is gone; 0 no
-- longer current. A delivery that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@flags allow-oom
--@idempotent
--@plain
-- All are acknowledged, and are as in the plain block of queue_delivery_acknowledge, without ids.
local count = tonumber(ARGV[1])
local fields, instant = {}, format('%d', now)
local is_plain = #ARGV == 2 + 2 * count
for i = 1, is_plain and count or 0 do
  fields[i] = ARGV[1 + 2 * i] .. 's'
end
fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = 'layout', 'rules', 'full'
local states = is_plain and redis.call('HMGET', KEYS[QUEUE], unpack(fields)) or {}
known = is_plain and states or nil
is_plain = is_plain and (states[count + 1] or LAYOUT) == LAYOUT and not states[count + 2] and not states[count + 3]
local answer, ended, flight, done, contents, timed = { count, now }, {}, {}, {}, {}, {}
local remembered_until = format('%d', now + REMEMBERED_MS)
for i = 1, is_plain and count or 0 do
  local seq, nonce, state = ARGV[1 + 2 * i], ARGV[2 + 2 * i], states[i]
  local options, expires, id = state and state:find('\t', 32, true), '0', ''
  if options then -- no group, no mark but 'f'
    expires, id = state:match('^\t(%d+)\t%d+\t([^\t]*)\t\t[^\t]*\tf?%d*\t', options)
  end
  if not state or ended[seq] or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant or id ~= ''
    or state:sub(30, 30) == 'd' then
    is_plain = false
    break
  end
  ended[seq], contents[i], answer[i + 2] = true, seq, 1
  timed[#timed + 1] = expires ~= '0' and 't' .. seq or nil
  flight[2 * i - 1], flight[2 * i] = '-' .. remembered_until, fields[i]
  done[2 * i - 1], done[2 * i] = fields[i], nonce .. remembered_until .. 'd'
end
if is_plain and count > 0 then
  if timed[1] then
    redis.call('ZCARD', KEYS[FLIGHT])
    redis.call('ZREM', KEYS[GROUPS], unpack(timed))
  end
  redis.call('ZADD', KEYS[FLIGHT], unpack(flight))
  redis.call('HSET', KEYS[QUEUE], unpack(done))
  redis.call('HDEL', KEYS[QUEUE], unpack(contents))
  reply = answer
end
--@operation
return settle_deliveries(false)
