-- queue_delivery_settle: many deliveries end at once, each as queue_delivery_acknowledge or
-- queue_delivery_reject would end it, one after another.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 how many are acknowledged, then 2 for each of those: sequence, nonce; then 5 for each
--       that is rejected: sequence, nonce, delay_ms (-1: the queue's backoff), reason ('': not
--       given), '1': dead at once
--@reply 0..: outcomes int...
-- The outcome of the reply is how many deliveries had an effect. outcomes are in the order of ARGV:
-- 1 acknowledged (also when this delivery was acknowledged within the last minute), 2 rejected, 0
-- no longer current. One that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_delivery queue_done
--@flags allow-oom
--@idempotent
local ACKNOWLEDGED, REJECTED, NOT_CURRENT = 1, 2, 0
local first_rejected = 2 + 2 * tonumber(ARGV[1])
local count, fields = 0, {}
for i = 2, first_rejected - 1, 2 do
  count = count + 1
  fields[count] = ARGV[i] .. 's'
end
for i = first_rejected, #ARGV, 5 do
  count = count + 1
  fields[count] = ARGV[i] .. 's'
end
fields[count + 1] = 'layout'
local states = redis.call('HMGET', queue_key, unpack(fields))
local layout = states[count + 1]
--@include queue_layout
local reply, effects = { 0, now }, 0
-- Sequence to nonce of each delivery that has ended in this call. Nothing is written yet, so Redis
-- does not know.
local ended = {}

local remembered_until = digits(now + 60000)
local flight, done, contents, ids = {}, {}, {}, {}
for i = 1, (first_rejected - 2) / 2 do
  local seq, nonce, state = ARGV[2 * i], ARGV[2 * i + 1], states[i]
  local outcome = NOT_CURRENT
  if ended[seq] then
    outcome = ended[seq] == nonce and ACKNOWLEDGED or NOT_CURRENT
  elseif state and state:sub(1, 16) == nonce and state:sub(17, 29) > instant then
    outcome = ACKNOWLEDGED
    if state:sub(30, 30) ~= 'd' then
      effects = effects + 1
      ended[seq] = nonce
      contents[effects] = seq
      local m = state:find('\t', 32, true) and read_state(state)
      flight[2 * effects - 1], flight[2 * effects] = '-' .. remembered_until, fields[i] .. (m and m.group or '')
      done[2 * effects - 1], done[2 * effects] = fields[i], nonce .. remembered_until .. 'd'
      if m and m.id ~= '' then
        ids[#ids + 1] = m.id
      end
    end
  end
  reply[i + 2] = outcome
end
for i = first_rejected, #ARGV, 5 do
  local seq, nonce = ARGV[i], ARGV[i + 1]
  local m = not ended[seq] and current_delivery(seq, nonce, states[#reply - 1])
  if m then
    give_back(m, tonumber(ARGV[i + 2]), ARGV[i + 3] ~= '' and ARGV[i + 3] or 'rejected', ARGV[i + 4] == '1')
    ended[seq] = nonce
    reply[1] = reply[1] + 1
  end
  reply[#reply + 1] = m and REJECTED or NOT_CURRENT
end
reply[1] = reply[1] + effects

if ids[1] then
  check_types()
  setting('dedupe_ms') -- a hash that is not a queue's fails here
end
commit()
if effects > 0 then
  redis.call('ZADD', flight_key, unpack(flight))
  redis.call('HSET', queue_key, unpack(done))
  redis.call('HDEL', queue_key, unpack(contents))
end
if ids[1] then
  remember_ids(ids)
end
return reply
