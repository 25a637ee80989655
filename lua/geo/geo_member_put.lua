-- geo_member_put: puts one member where it is now.
-- KEYS[1]  the set: sorted set of GEOADD, or hash of one that is split; no TTL. KEYS[2] the
--          member's cell
-- ARGV[1]  longitude
-- ARGV[2]  latitude
-- ARGV[3]  the member
-- ARGV[4]  of a split set: how many cells
-- Returns {1, now, added (1 or 0), longitude, latitude, geohash}: the place as stored, rounded to
--         52 bits
--         {-3, now, cells}: call again, see geo/lib_geo_cells.lua
-- Errors: WRONGTYPE, or ERR for a place outside the ranges, nothing done. O(log M).
--@include time geo geo_cells
local now = now_ms()
local cells, other = geo_cells(now)
if not cells then
  return other
end
local key = KEYS[2] or KEYS[1]
local added = redis.call('GEOADD', key, ARGV[1], ARGV[2], ARGV[3])
if cells > 0 and added > 0 then
  redis.call('HINCRBY', KEYS[1], 'size', 1)
end
return {1, now, added, unpack(geo_places(key, {ARGV[3]}))}
