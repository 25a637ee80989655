-- geo_member_put: adds one member, or moves it to where it is now.
-- KEYS[1]  the set. KEYS[2] the member's cell; and the index of names (lib/made.lua)
-- ARGV[1]  longitude
-- ARGV[2]  latitude
-- ARGV[3]  the member
-- ARGV[4]  how many cells
--@reply 1: added int, place (geo_place)
--@reply -3 resized: geo_resized
-- added is 1 or 0. The place is as stored, rounded to 52 bits.
-- Errors: WRONGTYPE, or ERR for a place outside the ranges, nothing done. O(log M).
local longitude, latitude, member = ARGV[1], ARGV[2], ARGV[3]
local cells, other, is_new = geo_cells(now)
if not cells then
  return other
end
local added = redis.call('GEOADD', KEYS[2], longitude, latitude, member)
geo_added(cells, added, is_new)
return { 1, now, added, unpack(geo_places(KEYS[2], { member })) }
