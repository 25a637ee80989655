-- feed_item_push: puts items in front of a feed, and drops its oldest ones.
-- KEYS     the keys of a feed (feeds/lib_feed.lua), and the index of names (lib/made.lua)
-- ARGV[1]  how many items the feed keeps from now on; '' as before
-- ARGV     items as JSON texts, the newest last, at most 1000; a call without items only drops
--@reply 1: size int, excess int, max_items int, first_ms int, first_seq int
-- Call again without items while excess is above 0. The first item has the id
-- "<first_ms>-<first_seq>", each next one the next sequence number.
-- How many items are dropped is decided when items are pushed. A call that only drops, however
-- late, drops no item that was pushed after that decision.
-- An id is never used again: Redis makes each id larger than all before it, even when its clock was
-- set back, or the newest item was removed. A new stream does not know the ids of a deleted one of
-- its name. So its sequence numbers begin with the microsecond, above the ids that the old one may
-- have used in the same millisecond.
-- Errors: WRONGTYPE, nothing done. O(items); it drops at most 250, or as many as were pushed.
--@idempotent
local limit, oldest = tonumber(ARGV[1]), ARGV[2]
local size = redis.call('XLEN', KEYS[1])
local is_there = size > 0 or redis.call('EXISTS', KEYS[1]) == 1
local kept = redis.call('HMGET', KEYS[2], 'limit', 'excess')
local is_new = #ARGV > 1 and not (is_there and kept[1])
local at = is_new and is_there and expiry_at({ KEYS[1] })
local excess = is_there and tonumber(kept[2] or '0') or 0
limit = limit or feed_limit(is_there, kept[1])
local ms, seq = '0', '0'
if #ARGV > 1 then
  local id = is_there and '*' or format('%d-%d', now, (clock[2] % 1000 + 1) * 1000000)
  ms, seq = string.match(redis.call('XADD', KEYS[1], id, 'item', oldest), '^(%d+)-(%d+)$')
  id = ms .. '-*'
  for i = 3, #ARGV do
    redis.call('XADD', KEYS[1], id, 'item', ARGV[i])
  end
  if not is_there then
    made = { KEYS[1] }
  end
  size = size + #ARGV - 1
  excess = math.max(excess, size - limit)
end
size, excess = feed_drop(size, excess, kept[2], math.max(250, #ARGV - 1))
if #ARGV > 1 and format('%d', limit) ~= kept[1] then
  redis.call('HSET', KEYS[2], 'limit', format('%d', limit))
end
if is_new then
  expire(KEYS, at)
end
return { 1, now, size, excess, limit, ms, seq }
