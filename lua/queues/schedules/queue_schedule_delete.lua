-- queue_schedule_delete: removes a schedule; the messages that it made stay. If an instant is due,
-- its message is made first, as the next receive would make it.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
local id = ARGV[1]
check_types()
local exists = redis.call('HEXISTS', keys[QUEUE], ':' .. id)
fire_if_due(id, redis.call('HGET', keys[QUEUE], 'paused') == '1') -- its last instant removes it
remove_schedule(id)
note_next()
return { exists, now }
