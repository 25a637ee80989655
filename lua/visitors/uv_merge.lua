-- uv_merge: adds the visitors of source pages to a page, day by day. Days on which no source has
-- visitors are left alone.
-- KEYS     the page to merge into (visitors/lib_page.lua); sketches, page by page, with this page
--          first, each page's in the order of the days, at most 400; the total of this page
--          (visitors/lib_total.lua), to which merged days are added as well if there is one; and
--          the index of names (lib/made.lua)
-- ARGV[1]  the day that the caller took for today, in days since 1970, or ''
-- ARGV[2]  how many days
-- ARGV[3]  how long the merged days are kept from now, s
-- ARGV[4]  the first day, in days since 1970
--@reply 1 merged, 0: uv_merged
--@reply -1 wrong_day
--@shape uv_merged: days int, first_day int, range_days int
-- days is how many were merged. The range has range_days from first_day on. wrong_day: the day in
-- ARGV[1] is not today.
-- Errors: WRONGTYPE, nothing done. O(N), about 40 us for each sketch.
--@idempotent
local expected, days, kept_s, first_day = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
if day_is_wrong(now, expected) then
  return { -1, now }
end
local has_total, merged, written = total_is_sketch(total_key), 0, {}
redis.call('PFCOUNT', unpack(KEYS)) -- fails here, and not halfway, if one of them is not a sketch
for day = 1, days do
  local sources = {}
  for i = day + days, #KEYS, days do
    sources[#sources + 1] = KEYS[i]
  end
  if redis.call('EXISTS', unpack(sources)) > 0 then
    redis.call('PFMERGE', KEYS[day], unpack(sources))
    redis.call('EXPIRE', KEYS[day], kept_s)
    merged = merged + 1
    written[merged] = KEYS[day]
  end
end
if has_total and merged > 0 then
  redis.call('PFMERGE', total_key, unpack(written))
end
if merged > 0 then
  page_keep(page_key, day_of(now), first_day + days - 1, kept_s)
end
return { merged > 0 and 1 or 0, now, merged, first_day, days }
