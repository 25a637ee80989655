-- geo_size: how many members a set has, and how many cells.
-- KEYS[1]  the set
-- Returns {0, now, members, cells}: 0 and 1 for one that was never used
-- Errors: WRONGTYPE. O(1).
--@include time geo_size
--@reads
local size, cells = geo_size()
if not size then
  return cells
end
return {0, now_ms(), size, cells}
