-- counter_delete: removes all counters under a name.
-- KEYS[1]  the counters: hash
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory in the background.
--@include time
--@flags allow-oom
local now = now_ms()
redis.call('HLEN', KEYS[1])
return { redis.call('UNLINK', KEYS[1]), now }
