-- geo_size: a set's members and settings.
-- KEYS[1]  the set
-- Returns {0, now, members, cells, expires at (-1: never), exists (1 or 0)}: 0 members and 1 cell
--         of one that does not exist
-- Errors: WRONGTYPE. O(1).
--@include time expiry geo_size
--@reads
local size, cells, kind = geo_size()
if not size then
  return cells
end
return {0, now_ms(), size, cells, expiry_reply(expires_at(KEYS)), kind == 'none' and 0 or 1}
