-- feed_get: how many items a feed has and keeps, and when it expires.
-- KEYS     the keys of a feed (feeds/lib_feed.lua)
--@reply 0, -1 absent: feed
-- Errors: WRONGTYPE. O(1).
--@reads
return feed_state(KEYS, now)
