-- feed_delete: removes a feed.
-- KEYS[1]  the feed
-- KEYS[2]  its settings, see feed_item_push
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); memory is freed in the background.
--@include time
--@flags allow-oom
local now = now_ms()
local size = redis.call('LLEN', KEYS[1])
redis.call('UNLINK', unpack(KEYS))
return { size > 0 and 1 or 0, now }
