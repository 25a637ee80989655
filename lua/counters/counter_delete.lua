-- counter_delete: removes all counters under a name.
-- KEYS[1]  the counters: hash
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory in the background.
--@flags allow-oom
redis.call('HLEN', KEYS[1])
return { redis.call('UNLINK', KEYS[1]), now }
