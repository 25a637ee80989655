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
-- Returns {0, now, member, distance (4 decimals), longitude, latitude, geohash, ...}: five for each
--         {-1, now} the member in the centre is not there
--         {-3, now, cells}: the set is split
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
local skipped, members = tonumber(ARGV[10]), {}
for i = skipped + 1, #found do
  members[#members + 1] = found[i][1]
end
if #members == 0 then
  return {0, now}
end
local hash = redis.call('GEOHASH', KEYS[1], unpack(members))
local reply = {0, now}
for i = skipped + 1, #found do
  reply[#reply + 1] = found[i][1]
  reply[#reply + 1] = found[i][2]
  reply[#reply + 1] = found[i][3][1]
  reply[#reply + 1] = found[i][3][2]
  reply[#reply + 1] = hash[i - skipped]
end
return reply
