-- queue_message_get: one message, without taking it.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
--@reply 0: message [queue_message]
--@reply -1 absent
-- Errors: WRONGTYPE. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_ended queue_find
--@include queue_item
--@reads
local m, state = find(ARGV[1])
if not m or state == 'expired' then
  return { -1, now }
end
return { 0, now, item_of(m, state) }
