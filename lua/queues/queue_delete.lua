-- queue_delete: removes a queue with all that is in it: messages, settings, remembered ids.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing changed. O(1): Redis frees the memory in the background.
--@include time queue queue_types
--@flags allow-oom
check_types()
if queue_rules and queue_rules:find('^result_ms') then
--@include queue_result
  wake_daemons(redis.call('HGET', queue_key, 'awaited') or '', queue_key .. ':results')
end
if redis.call('ZCARD', room_key) > 0 then
--@include waiters
  waiters_wake_all(room_key, room_key, 0)
end
table.remove(KEYS, 9) -- its waiters still wait
local removed = redis.call('UNLINK', unpack(KEYS))
return { removed > 0 and 1 or 0, now }
