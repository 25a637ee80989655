-- uv_get: distinct visitors of each group of sketches, and of all together: a union, not a sum.
-- A page's days are one group a day; several pages are one group a page.
-- KEYS     sketches, group by group, at most 400; with ARGV[3] the page's total
--          (visitors/lib_total.lua)
-- ARGV[1]  the day that was taken for today, in days since 1970, or ''
-- ARGV[2]  keys in each group
-- ARGV[3]  '1': the total is asked for, too
--@reply 0: total int, count int, counts int...
--@reply -1 wrong_day
-- total is -1 when the page keeps none, or it was not asked for. count is of all together, counts
-- are of each group. wrong_day: it is not today.
-- Errors: WRONGTYPE. O(N), about 20 us for each sketch.
-- It only looks, but PFCOUNT keeps the count it found in the sketch, which Redis does not let a
-- 'no-writes' script do.
--@include time days
--@looks
local now = now_ms()
if day_is_wrong(now, ARGV[1]) then
  return {-1, now}
end
local size, total = tonumber(ARGV[2]), -1
if ARGV[3] == '1' then
--@include total
  total = total_is_sketch() and redis.call('PFCOUNT', total_key) or -1
end
local reply = {0, now, total, redis.call('PFCOUNT', unpack(KEYS))}
if size >= #KEYS then -- one group is all together
  reply[5] = reply[4]
  return reply
end
for first = 1, #KEYS, size do
  reply[#reply + 1] = redis.call('PFCOUNT', unpack(KEYS, first, first + size - 1))
end
return reply
