-- checkin_delete: deletes all check-ins of a name.
-- KEYS[1]  the check-ins of a name
--@reply 1 deleted, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory of a large hash in the background.
--@flags allow-oom
redis.call('HLEN', KEYS[1]) -- UNLINK removes a key of any type
return { redis.call('UNLINK', KEYS[1]), now }
