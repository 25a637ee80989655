-- feed_item_push: puts items in front of a feed, and drops from its end.
-- KEYS[1]  the feed: list of JSON texts, the newest first, no TTL
-- KEYS[2]  its excess: how many items at its end are still to be dropped; there only meanwhile, TTL
--          24 h
-- ARGV[1]  how many items the feed keeps
-- ARGV     items as JSON texts, the newest last, at most 1000; none at all to go on dropping
-- Returns {1, now, items it has, excess}: call again without items as long as there is an excess
-- What is dropped is decided when the items come, and counted from the end: a call that only drops,
-- however late, takes nothing that came meanwhile.
-- Errors: WRONGTYPE, nothing done. O(items); at most 250 are dropped, or as many as came.
--@include time
--@idempotent
local now = now_ms()
local keep = tonumber(ARGV[1])
local size = redis.call('LLEN', KEYS[1])
local kept = redis.call('GET', KEYS[2])
local excess = size > 0 and tonumber(kept or '0') or 0
if #ARGV > 1 then
  size = redis.call('LPUSH', KEYS[1], unpack(ARGV, 2))
  excess = math.max(excess, size - keep)
end
local dropped = math.min(excess, math.max(250, #ARGV - 1))
if dropped > 0 then
  size, excess = size - dropped, excess - dropped
  redis.call('LTRIM', KEYS[1], '0', digits(-dropped - 1))
end
if excess > 0 then
  redis.call('SET', KEYS[2], digits(excess), 'PX', '86400000')
elseif kept then
  redis.call('DEL', KEYS[2])
end
return { 1, now, size, excess }
