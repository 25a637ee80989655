-- uv_add: adds visitors to a page's sketch of one day.
-- KEYS     the page (visitors/lib_page.lua); the day's sketch: HyperLogLog, TTL; the page's total
--          (visitors/lib_total.lua), to which they are added as well if there is one; and the
--          index of names (lib/made.lua)
-- ARGV[1]  the day, in days since 1970
-- ARGV[2]  the same if the caller took it for today, else ''
-- ARGV[3]  how long the sketch is kept from now, s
-- ARGV     visitors, at most 1000
--@reply 1: is_changed int, day int
--@reply -1 wrong_day
-- wrong_day: it is not today.
-- Errors: WRONGTYPE, nothing done. O(N).
--@idempotent
--@plain
-- Visitors of today, without a total.
local day, kept_s = ARGV[1] + 0, ARGV[3]
local page_key, day_key, total_key = KEYS[1], KEYS[2], KEYS[3]
if day == math.floor(now / DAY_MS) and redis.call('EXISTS', total_key) == 0 then
  local changed = redis.call('PFADD', day_key, unpack(ARGV, 4))
  if redis.call('EXPIRE', day_key, kept_s, 'XX') == 0 then -- a new sketch
    local seconds = format('%d', kept_s + DAY_S)
    redis.call('EXPIRE', day_key, kept_s)
    if redis.pcall('EXPIRE', page_key, seconds, 'GT') ~= 1
      and redis.pcall('SET', page_key, '', 'EX', seconds, 'NX') then
      made = { page_key }
    end
  end
  reply = { 1, now, changed, day }
end
--@operation
local day, expected, kept_s = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
if day_is_wrong(now, expected) then
  return { -1, now }
end
local has_total = total_is_sketch(total_key)
local changed = redis.call('PFADD', KEYS[1], unpack(ARGV, 4))
local is_new = redis.call('EXPIRE', KEYS[1], kept_s, 'XX') == 0
if is_new then
  redis.call('EXPIRE', KEYS[1], kept_s)
end
if has_total then
  redis.call('PFADD', total_key, unpack(ARGV, 4))
end
local today = day_of(now)
if is_new or day ~= today then
  page_keep(page_key, today, day, kept_s)
end
return { 1, now, changed, day }
