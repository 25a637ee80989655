-- geo_search: members inside a circle or a box, by distance from its centre.
-- KEYS[1]  the set; one that is split is searched by geo_search_cells
-- ARGV[1]  'member' or 'point': what the centre is
-- ARGV[2]  the member; longitude of the point
-- ARGV[3]  ''; latitude of the point
-- ARGV[4]  'radius' or 'box'
-- ARGV[5]  radius; width of the box
-- ARGV[6]  ''; height of the box
-- ARGV[7]  unit of these and of the answer: m, km, mi, ft
-- ARGV[8]  'ASC' or 'DESC'
-- ARGV[9]  how many at most
-- ARGV[10] how many of these to leave out, the first
--@reply 0: found (geo_found)...
--@reply -1 absent
--@reply -3 again: geo_again
-- absent: the member in the centre is not there.
-- Errors: WRONGTYPE. O(all members in the shape, and near it), however few are asked for; O(all
-- members) beyond a pole.
--@include time geo geo_cells geo_near
--@reads
local now = now_ms()
local cells, other = geo_cells(now)
if not cells then
  return other
end
local at = {ARGV[2], ARGV[3]}
if ARGV[1] == 'member' then
  at = redis.call('GEOPOS', KEYS[1], ARGV[2])[1]
  if not at then
    return {-1, now}
  end
end
local shape = {ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]}
local found = geo_near(KEYS[1], at, shape, ARGV[8], tonumber(ARGV[9]))
local reply, n = {0, now}, 2
for i = ARGV[10] + 1, #found do
  local one = found[i]
  reply[n + 1], reply[n + 2], reply[n + 3] = one[1], one[2], one[3]
  n = n + 3
end
return reply
