-- uv_get: distinct visitors of each group of sketches, and of all together: a union, not a sum.
-- A page's days are one group a day; several pages are one group a page.
-- KEYS     sketches, group by group, at most 400
-- ARGV[1]  the day that was taken for today, in days since 1970, or ''
-- ARGV[2]  keys in each group
--@reply 0: count int, counts int...
--@reply -1 wrong_day
-- count is of all together, counts are of each group. wrong_day: it is not today.
-- Errors: WRONGTYPE. O(N), about 20 us for each sketch.
-- It only looks, but PFCOUNT keeps the count it found in the sketch, which Redis does not let a
-- 'no-writes' script do.
--@include time days
--@looks
local now = now_ms()
if day_is_wrong(now, ARGV[1]) then
  return {-1, now}
end
local size = tonumber(ARGV[2])
local reply = {0, now, redis.call('PFCOUNT', unpack(KEYS))}
if size >= #KEYS then -- one group is all together
  reply[4] = reply[3]
  return reply
end
for first = 1, #KEYS, size do
  reply[#reply + 1] = redis.call('PFCOUNT', unpack(KEYS, first, first + size - 1))
end
return reply
