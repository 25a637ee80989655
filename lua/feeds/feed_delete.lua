-- feed_delete: removes a feed.
-- KEYS     the keys of a feed (feeds/lib_feed.lua)
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory in the background.
--@flags allow-oom
redis.call('XLEN', KEYS[1]) -- fails here, and not halfway, if it is not a stream
local removed = redis.call('UNLINK', KEYS[1])
redis.call('UNLINK', KEYS[2])
return { removed, now }
