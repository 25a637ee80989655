-- queue_schedule_delete: removes a schedule; the messages that it made stay.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {1, now_ms}; {0, now_ms} when there is none. Errors: WRONGTYPE, nothing changed.
-- O(log(queue)).
--@include time queue queue_types queue_schedule
--@flags allow-oom
check_types()
local removed = remove_schedule(ARGV[1])
note_next()
return { removed, now }
