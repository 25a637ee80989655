-- geo_size: the number of members and the settings of a set.
-- KEYS[1]  the set
--@reply 0, -1 absent: geo_set
-- A set that does not exist has size 0 and the default number of cells.
-- Errors: WRONGTYPE. O(1).
--@reads
local size, cells, is_absent = geo_size()
if not size then
  return cells
end
return { is_absent and -1 or 0, now, size, cells, expiry_reply(expiry_at(KEYS)) }
