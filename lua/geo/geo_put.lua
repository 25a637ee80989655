-- geo_put: writes the settings of a set, all of them or (PATCH) some. From then on the set exists
-- also without members.
-- KEYS[1]  the set. KEYS[2..] all its cells (geo/lib_geo_cells.lua), which matter when it has
--          members; and the index of names (lib/made.lua)
-- ARGV[1]  cells; '' keeps them
-- ARGV[2]  ttl_ms as lib/expiry.lua has it
-- ARGV[3]  '1': only if the set exists
-- ARGV[4]  how many cells are in KEYS
--@reply 1: geo_set, is_new int
--@reply -1 other_cells: size int, cells int
--@reply -2 absent
--@reply -3 resized: geo_resized
-- other_cells: the set has members, and another number of cells.
-- Errors: WRONGTYPE, nothing done. O(cells).
local wanted, ttl, must_exist = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local size, cells, is_absent = geo_size()
if not size then
  return cells
end
wanted = wanted or cells
if is_absent and must_exist == '1' then
  return { -2, now }
elseif size > 0 and wanted ~= cells then
  return { -1, now, size, cells }
elseif size > 0 and #KEYS - 1 ~= cells then
  return { -3, now, cells }
end
local at = expiry_after(ttl, now, expiry_at({ KEYS[1] }))
redis.call('HSET', KEYS[1], 'cells', format('%d', wanted), 'size', format('%d', size), 'kept', '1')
expire(KEYS, at)
if is_absent then
  made = { KEYS[1] }
end
return { 1, now, size, wanted, expiry_reply(at), is_absent and 1 or 0 }
