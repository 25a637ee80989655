-- geo_lookup: where members are.
-- KEYS[1]  the set
-- ARGV     members, at most 1000
-- Returns {0, now, longitude, latitude, geohash, ...}: three for each member, in the order asked; '' for one not there
-- Errors: WRONGTYPE. O(N log M).
--@include time geo
--@reads
return {0, now_ms(), unpack(geo_places(KEYS[1], ARGV))}
