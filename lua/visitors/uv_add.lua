-- uv_add: adds visitors to a page's sketch of one day.
-- KEYS     the page (visitors/lib_page.lua); the day's sketch: HyperLogLog, TTL; the page's total
--          (visitors/lib_total.lua), to which they are added as well if there is one; and the
--          index of names (lib/names.lua)
-- ARGV[1]  the day, in days since 1970
-- ARGV[2]  the same if the caller took it for today, else ''
-- ARGV[3]  how long the sketch is kept from now, s
-- ARGV     visitors, at most 1000
--@reply 1: is_changed int, day int
--@reply -1 wrong_day
-- wrong_day: it is not today.
-- Errors: WRONGTYPE, nothing done. O(N).
--@idempotent
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
if day_is_wrong(now, ARGV[2]) then
  return {-1, now}
end
local has_total = total_is_sketch(total_key)
local changed = redis.call('PFADD', KEYS[1], unpack(ARGV, 4))
redis.call('EXPIRE', KEYS[1], ARGV[3])
if has_total then
  redis.call('PFADD', total_key, unpack(ARGV, 4))
end
local day, today = tonumber(ARGV[1]), day_of(now)
if changed == 1 or day ~= today then -- a new sketch changes
  page_keep(page_key, today, day, ARGV[3])
end
return {1, now, changed, day}
