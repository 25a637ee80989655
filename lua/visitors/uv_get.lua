-- uv_get: distinct visitors of each group of sketches, and of all together: a union, not a sum. The
-- days of one page are one group per day; several pages are one group per page.
-- KEYS     sketches, group by group, at most 400; with ARGV[3] the page's total
--          (visitors/lib_total.lua)
-- ARGV[1]  the day that the caller took for today, in days since 1970, or ''
-- ARGV[2]  keys in each group
-- ARGV[3]  '1': the reply has the total
--@reply 0: total int, count int, counts int...
--@reply -1 wrong_day
-- total is -1 when the page keeps none, or it was not asked for. count is for all together, counts
-- has one for each group. wrong_day: it is not today.
-- Errors: WRONGTYPE. O(N), about 20 us for each sketch.
-- It only reads, but PFCOUNT stores the count in the sketch, which Redis does not allow in a
-- 'no-writes' script.
--@looks
local expected, size, has_total = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if day_is_wrong(now, expected) then
  return { -1, now }
end
local total = -1
if has_total == '1' then
  local total_key = table.remove(KEYS)
  total = total_is_sketch(total_key) and redis.call('PFCOUNT', total_key) or -1
end
local reply = { 0, now, total, redis.call('PFCOUNT', unpack(KEYS)) }
if size >= #KEYS then -- one group is all together
  reply[5] = reply[4]
  return reply
end
for first = 1, #KEYS, size do
  reply[#reply + 1] = redis.call('PFCOUNT', unpack(KEYS, first, first + size - 1))
end
return reply
