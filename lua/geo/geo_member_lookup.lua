-- geo_member_lookup: the places of members.
-- KEYS[1]  the set. KEYS[2..] cells, see geo/lib_geo_cells.lua
-- ARGV     for each of KEYS[2..] how many, and then these: members, at most 1000 in all; then how
--          many cells
--@reply 0: places (geo_place)...
--@reply -3 resized: geo_resized
-- There is a place for each member, in the order asked. The geohash of an absent member is ''.
-- Errors: WRONGTYPE. O(N log M).
--@reads
local cells, other = geo_cells(now)
if not cells then
  return other
end
local reply = { 0, now }
for _, group in ipairs(geo_groups(1)) do
  for _, item in ipairs(geo_places(group[1], group[2])) do
    reply[#reply + 1] = item
  end
end
return reply
