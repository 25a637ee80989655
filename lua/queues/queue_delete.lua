-- queue_delete: removes a queue with all that is in it: messages, settings, remembered ids.
-- KEYS  the queue's (queues/lib_queue.lua)
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing changed. O(1): freed in the background.
--@include time queue queue_types
--@flags allow-oom
check_types()
table.remove(KEYS, 9) -- its waiters wait on
local removed = redis.call('UNLINK', unpack(KEYS))
return { removed > 0 and 1 or 0, now }
