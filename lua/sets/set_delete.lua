-- set_delete: removes a set.
-- KEYS[1]  the set
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory in the background.
--@flags allow-oom
redis.call('SCARD', KEYS[1])
return { redis.call('UNLINK', KEYS[1]), now }
