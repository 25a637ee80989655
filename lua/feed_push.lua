-- feed_push: puts items in front of a feed, and drops from its end.
-- KEYS[1]  the feed: list of JSON texts, the newest first, no TTL
-- ARGV[1]  how many items the feed keeps
-- ARGV     items as JSON texts, the newest last, at most 1000; none at all to go on dropping
-- Returns {1, now, items it has}: more than it keeps while there are more to drop than one call may; call again then,
--         without items
-- Errors: WRONGTYPE, nothing done. O(items); at most 250 are dropped, or as many as came.
--@include time
--@idempotent
local now = now_ms()
local keep = tonumber(ARGV[1])
local size = redis.call('LLEN', KEYS[1])
if #ARGV > 1 then
  size = redis.call('LPUSH', KEYS[1], unpack(ARGV, 2))
end
if size > keep then
  size = math.max(keep, size - math.max(250, #ARGV - 1))
  redis.call('LTRIM', KEYS[1], 0, digits(size - 1))
end
return { 1, now, size }
