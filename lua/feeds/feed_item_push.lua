-- feed_item_push: puts items in front of a feed, and drops from its end.
-- KEYS[1]  the feed: list of JSON texts, the newest first
-- KEYS[2]  its settings: hash of `limit`, how many items it keeps, and `excess`, how many at its
--          end are still to be dropped; expires with the feed
-- KEYS[3]  the index of names (lib/names.lua)
-- ARGV[1]  how many items the feed keeps from now on; '' as before
-- ARGV     items as JSON texts, the newest last, at most 1000; none at all to go on dropping
--@reply 1: size int, excess int, max_items int
-- Call again without items as long as there is an excess.
-- What is dropped is decided when the items come, and counted from the end: a call that only drops,
-- however late, takes nothing that came meanwhile.
-- Errors: WRONGTYPE, nothing done. O(items); at most 250 are dropped, or as many as came.
--@include time names expiry feed
--@idempotent
local now = now_ms()
local size = redis.call('LLEN', KEYS[1])
local kept = redis.call('HMGET', KEYS[2], 'limit', 'excess')
local is_new = #ARGV > 1 and (size == 0 or not kept[1])
local at = is_new and size > 0 and expires_at({ KEYS[1] })
local excess = size > 0 and tonumber(kept[2] or '0') or 0
local limit = tonumber(ARGV[1]) or feed_limit(size, kept[1])
if #ARGV > 1 then
  local before = size
  size = redis.call('LPUSH', KEYS[1], unpack(ARGV, 2))
  if before == 0 then
    name_made(KEYS[1])
  end
  excess = math.max(excess, size - limit)
end
local dropped = math.min(excess, math.max(250, #ARGV - 1))
if dropped > 0 then
  size, excess = size - dropped, excess - dropped
  redis.call('LTRIM', KEYS[1], '0', digits(-dropped - 1))
end
if #ARGV > 1 and digits(limit) ~= kept[1] then
  redis.call('HSET', KEYS[2], 'limit', digits(limit))
end
if excess > 0 then
  redis.call('HSET', KEYS[2], 'excess', digits(excess))
elseif kept[2] then
  redis.call('HDEL', KEYS[2], 'excess')
end
if is_new then
  expire(KEYS, at)
end
return { 1, now, size, excess, limit }
