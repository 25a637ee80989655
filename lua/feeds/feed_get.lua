-- feed_get: how many items a feed has and keeps, and when it expires.
-- KEYS[1]  the feed
-- KEYS[2]  its settings, see feed_item_push
--@reply 0: feed
-- Errors: WRONGTYPE. O(1).
--@include time expiry feed
--@reads
return feed_state(KEYS, now_ms())
