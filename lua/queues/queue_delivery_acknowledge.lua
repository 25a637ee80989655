-- queue_delivery_acknowledge: a delivery is done; its message is gone, its id is remembered for
-- dedupe_ms.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: of the delivery, from its receipt
--@reply 1 acknowledged, 0 repeated, -1 stale
-- repeated: this delivery was acknowledged within the last minute. stale: it is no longer current,
-- since its message was delivered again, returned or removed, or its visibility ended.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue
--@flags allow-oom
local seq, nonce = ARGV[1], ARGV[2]
local field = seq .. 's'
local stored = redis.call('HMGET', queue_key, field, 'layout')
local state, layout = stored[1], stored[2]
--@include queue_layout
if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
  return { -1, now }
elseif state:sub(30, 30) == 'd' then
  return { 0, now }
end
local remembered_until, member = digits(now + 60000), field
if state:find('\t', 32, true) then -- it has options; perhaps an id
--@include queue_types queue_settings queue_message queue_done
  local m = read_state(state)
  member = field .. m.group
  if m.id ~= '' then
    redis.call('ZCARD', flight_key)
    remember_ids({ m.id })
  end
end
redis.call('ZADD', flight_key, '-' .. remembered_until, member)
redis.call('HSET', queue_key, field, nonce .. remembered_until .. 'd')
redis.call('HDEL', queue_key, seq)
return { 1, now }
