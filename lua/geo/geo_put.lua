-- geo_put: says over how many sorted sets a set is spread, while it has no members.
-- KEYS[1]  the set
-- ARGV[1]  cells: 1 is one sorted set at KEYS[1]; '' leaves it as it is
-- Returns {1, now, members, cells} it was changed, {0, now, members, cells} it was so before
--         {-1, now, members, cells} it has members, and another number of cells
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time geo_size
local now = now_ms()
local size, cells = geo_size()
if not size then
  return cells
end
if ARGV[1] == '' or tonumber(ARGV[1]) == cells then
  return {0, now, size, cells}
end
if size > 0 then
  return {-1, now, size, cells}
end
redis.call('DEL', KEYS[1])
if ARGV[1] ~= '1' then
  redis.call('HSET', KEYS[1], 'cells', ARGV[1], 'size', '0')
end
return {1, now, size, tonumber(ARGV[1])}
