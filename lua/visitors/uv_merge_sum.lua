-- uv_merge_sum: adds sketches from other slots to a page, day by day.
-- KEYS     the page (visitors/lib_page.lua); a key that is free, used within the script; the page's
--          sketches in the order of the days, at most 400; its total (visitors/lib_total.lua), to
--          which merged days are added as well if there is one; and the index of names
--          (lib/made.lua)
-- ARGV[1]  how long the merged days are kept from now, s
-- ARGV[2]  the first day, in days since 1970
-- ARGV     two per sketch: its day (from 1), its bytes, as uv_merge_part returned them; none for a
--          sketch of ''
--@reply 1 merged, 0: uv_merged
-- Errors: WRONGTYPE, nothing done. O(N), about 40 us for each sketch.
local kept_s, first_day = ARGV[1], tonumber(ARGV[2])
local total_key, page_key = table.remove(KEYS), table.remove(KEYS, 1)
local KEPT_MS = 10000 -- in case the script ends half-way
local has_total, written = total_is_sketch(total_key), {}
redis.call('PFCOUNT', unpack(KEYS, 2)) -- fails here, and not halfway, if one of them is not a sketch
local merged, is_merged = 0, {}
for i = 3, #ARGV, 2 do
  local day = tonumber(ARGV[i])
  redis.call('SET', KEYS[1], ARGV[i + 1], 'PX', format('%d', KEPT_MS))
  redis.call('PFMERGE', KEYS[1 + day], KEYS[1])
  redis.call('EXPIRE', KEYS[1 + day], kept_s)
  if not is_merged[day] then
    is_merged[day], merged = true, merged + 1
    written[merged] = KEYS[1 + day]
  end
end
redis.call('UNLINK', KEYS[1])
local days = #KEYS - 1
if has_total and merged > 0 then
  redis.call('PFMERGE', total_key, unpack(written))
end
if merged > 0 then
  page_keep(page_key, day_of(now), first_day + days - 1, kept_s)
end
return { merged > 0 and 1 or 0, now, merged, first_day, days }
