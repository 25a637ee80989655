-- queue_message_get: one message, without taking it.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {0, now_ms, item (queues/lib_queue_item.lua)}; {-1, now_ms} when there is none. Errors:
-- WRONGTYPE. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_ended queue_find
--@include queue_item
--@reads
local m, state = find(ARGV[1])
if not m or state == 'expired' then
  return { -1, now }
end
return { 0, now, item_of(m, state) }
