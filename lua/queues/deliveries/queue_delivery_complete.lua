-- queue_delivery_complete: as queue_delivery_settle, and stores the results. Redis refuses it when
-- it is out of memory.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and ...:result:<sequence> for each delivery
--       with a result
-- ARGV  as for queue_delivery_settle
--@reply 0..: outcomes int...
-- outcomes are as for queue_delivery_settle.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@idempotent
return settle_deliveries(true)
