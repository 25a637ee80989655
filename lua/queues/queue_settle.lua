-- queue_settle: settles what time has ended, and delivers nothing: deliveries whose visibility ended,
-- and messages past their ttl, at most 250 each.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 more, 0 finished
-- Errors: WRONGTYPE, nothing changed. O(250 * log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_find queue_ttl
--@flags allow-oom
return { settle_time('250') >= 250 and 1 or 0, now }
