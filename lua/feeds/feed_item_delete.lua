-- feed_item_delete: removes one item of a feed. The ids of the others stay.
-- KEYS     the keys of a feed (feeds/lib_feed.lua)
-- ARGV[1]  the id of the item
--@reply 1 removed, 0 absent
--@again -1 again
-- again: the call dropped items that a push left to be dropped. Otherwise the item could be one of
-- them, and a younger one would be dropped in its place.
-- Errors: WRONGTYPE, nothing done. O(1); at most 250 are dropped.
--@flags allow-oom
local id = ARGV[1]
local size = redis.call('XLEN', KEYS[1])
local excess = redis.call('HGET', KEYS[2], 'excess')
if size > 0 and excess then
  feed_drop(size, tonumber(excess), excess, 250)
  return { -1, now }
end
return { redis.call('XDEL', KEYS[1], id), now }
