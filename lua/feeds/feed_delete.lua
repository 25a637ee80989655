-- feed_delete: removes a feed.
-- KEYS     the feed's (feeds/lib_feed.lua)
--@reply 1 removed, -1 absent
-- Errors: WRONGTYPE, nothing done. O(1); memory is freed in the background.
--@include time feed
--@flags allow-oom
local now = now_ms()
local is_there = feed_state(KEYS, now)[1] == 0
redis.call('UNLINK', unpack(KEYS))
return { is_there and 1 or -1, now }
