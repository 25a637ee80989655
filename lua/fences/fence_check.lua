-- fence_check: lets a fence pass that is not below the highest one seen so far, and remembers it.
-- KEYS[1]  the highest fence seen: counter, no TTL
-- ARGV[1]  the fence, 1 to 2^53 - 1
--@reply 1 passed, -1 stale: highest int
-- highest is the fence itself if it passed, else the higher one.
-- Errors: WRONGTYPE, nothing done. O(1).
local fence = tonumber(ARGV[1])
local highest = fence_last(KEYS[1])
if fence < highest then
  return { -1, now, highest }
end
redis.call('SET', KEYS[1], format('%d', fence))
return { 1, now, fence }
