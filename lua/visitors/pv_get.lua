-- pv_get: a page's views, day by day.
-- KEYS     the days' counters, at most 400; the page's total (visitors/lib_total.lua)
-- ARGV[1]  the day that the caller took for today, in days since 1970, or ''
--@reply 0: total int, counts int...
--@reply -1 wrong_day
-- total is -1 when the page keeps none. A count is 0 for a day without views. wrong_day: it is not
-- today.
-- Errors: WRONGTYPE (MGET would read another type as 0). O(N).
--@reads
local expected = ARGV[1]
if day_is_wrong(now, expected) then
  return { -1, now }
end
local total, has_total = views_of(table.remove(KEYS))
local reply = { 0, now, has_total and total or -1 }
for i = 1, #KEYS do
  reply[i + 3] = views_of(KEYS[i])
end
return reply
