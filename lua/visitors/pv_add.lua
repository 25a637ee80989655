-- pv_add: adds to a page's view counter of one day.
-- KEYS     the page (visitors/lib_page.lua); the day's counter: string, TTL; the page's total
--          (visitors/lib_total.lua), to which it adds as well if there is one; and the index of
--          names (lib/made.lua)
-- ARGV[1]  the day, in days since 1970
-- ARGV[2]  the same if the caller took it for today, else ''
-- ARGV[3]  how long the counter is kept from now, s
-- ARGV[4]  how much to add
--@reply 1: count int, day int
--@reply -1 wrong_day
--@reply -2 overflow: count int
-- wrong_day: it is not today. overflow: the sum, of the day or in all, would be beyond 2^53 - 1.
-- Errors: WRONGTYPE, also for text that is not a counter; nothing done. O(1).
--@idempotent
local day, expected, kept_s, by = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
if day_is_wrong(now, expected) then
  return { -1, now }
end
local before = views_of(KEYS[1])
local total, has_total = views_of(total_key)
local most = math.max(before, total)
if most + tonumber(by) > VIEWS_MOST then
  return { -2, now, most }
end
if has_total then
  redis.call('INCRBY', total_key, by)
end
local count = redis.call('INCRBY', KEYS[1], by)
redis.call('EXPIRE', KEYS[1], kept_s)
local today = day_of(now)
if before == 0 or day ~= today then
  page_keep(page_key, today, day, kept_s)
end
return { 1, now, count, day }
