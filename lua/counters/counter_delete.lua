-- counter_delete: removes all counters under a name.
-- KEYS[1]  the counters: hash
-- Returns {1, now} removed, {0, now} there were none
-- Errors: WRONGTYPE, nothing done. O(1); memory is freed in the background.
--@include time
--@flags allow-oom
local now = now_ms()
redis.call('HLEN', KEYS[1])
return { redis.call('UNLINK', KEYS[1]), now }
