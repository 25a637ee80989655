-- queue_delete: removes a queue with all that is in it: messages, settings, remembered ids. Records
-- of dedupe ids stay until they expire: without the queue they are void.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing changed. O(1): Redis frees the memory in the background.
--@flags allow-oom
check_types()
if queue.rules_text and queue.rules_text:find('^result_ms') then
  wake_daemons(redis.call('HGET', keys[QUEUE], 'awaited') or '', keys[QUEUE] .. ':results')
end
if redis.call('ZCARD', keys[ROOM]) > 0 then
  waiters_wake_all(keys[ROOM], keys[ROOM], 0)
end
if redis.call('ZCARD', keys[WAITERS]) > 0 then -- waiters whose queue must exist end their wait
  waiters_wake_all(keys[QUEUE], keys[WAITERS], 0)
end
table.remove(KEYS, 9) -- the others still wait
local removed = redis.call('UNLINK', unpack(KEYS))
return { removed > 0 and 1 or 0, now }
