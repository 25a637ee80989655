-- queue_delivery_acknowledge: a delivery is done; its message is gone, its id is remembered for
-- dedupe_ms.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: of the delivery, from its receipt
--@reply 1 acknowledged, 0 repeated, -1 stale
-- repeated: this delivery was acknowledged within the last 150 s. stale: it is no longer current,
-- since its message was delivered again, returned or removed, or its visibility ended.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue
--@flags allow-oom
local seq, nonce = ARGV[1], ARGV[2]
local field = seq .. 's'
local state = redis.call('HGET', queue_key, field)
if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
  return { -1, now }
elseif state:sub(30, 30) == 'd' then
  return { 0, now }
end
local remembered_until = digits(now + 150000)
if state:find('\t', 32, true) then -- it has options; perhaps an id
--@include queue_types queue_settings queue_message queue_done
  local id = read_state(state).id
  if id ~= '' then
    redis.call('ZCARD', flight_key)
    remember_ids({ id })
  end
end
redis.call('ZADD', flight_key, '-' .. remembered_until, field)
redis.call('HSET', queue_key, field, nonce .. remembered_until .. 'd')
redis.call('HDEL', queue_key, seq)
return { 1, now }
