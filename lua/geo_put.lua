-- geo_put: puts one member where it is now.
-- KEYS[1]  the set: sorted set of GEOADD, no TTL
-- ARGV[1]  longitude
-- ARGV[2]  latitude
-- ARGV[3]  the member
-- Returns {1, now, added (1 or 0), longitude, latitude, geohash}: the place as stored, rounded to 52 bits
-- Errors: WRONGTYPE, or ERR for a place outside the ranges, nothing done. O(log M).
--@include time geo
local now = now_ms()
local added = redis.call('GEOADD', KEYS[1], ARGV[1], ARGV[2], ARGV[3])
return {1, now, added, unpack(geo_places(KEYS[1], {ARGV[3]}))}
