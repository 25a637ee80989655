-- queue_message_get: one message, without taking it.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {0, now_ms, item (queues/lib_queue_item.lua)}; {-1, now_ms} when there is none. Errors:
-- WRONGTYPE. O(log(queue)).
--@include time wake queue queue_find queue_item
--@reads
local m, state = find(this_queue(), ARGV[1])
local body = m and state ~= 'expired' and redis.call('HGET', body_key, m.seq)
if not body then
  return { -1, now }
end
return { 0, now, item_of(m, state, body) }
