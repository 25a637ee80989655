-- fence_delete: removes the highest fence seen.
-- KEYS[1]  the highest fence seen: counter, no TTL
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
fence_last(KEYS[1]) -- UNLINK removes a key of any type
return { redis.call('UNLINK', KEYS[1]), now }
