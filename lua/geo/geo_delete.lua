-- geo_delete: removes a whole set.
-- KEYS[1]  the set. KEYS[2..] all its cells, when it is split
-- ARGV[1]  of a split set: how many cells
-- Returns {1, now, members it had}, {0, now} it was not there
--         {-3, now, cells}: call again, see geo/lib_geo_cells.lua
-- Errors: WRONGTYPE, nothing done. O(cells); memory is freed in the background.
--@include time geo_size geo_cells
--@flags allow-oom
local now = now_ms()
local cells, other = geo_cells(now)
if not cells then
  return other
end
local members = geo_size()
if members == 0 and cells == 0 then
  return {0, now}
end
redis.call('UNLINK', unpack(KEYS))
return {1, now, members}
