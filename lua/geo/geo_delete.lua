-- geo_delete: removes a whole set.
-- KEYS[1]  the set. KEYS[2..] all its cells, when it is split
-- ARGV[1]  of a split set: how many cells
--@reply 1 removed: size int
--@reply 0 absent
--@reply -3 again: geo_again
-- size is how many members it had.
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
