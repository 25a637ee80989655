-- geo_distance: how far two members of a set are from each other.
-- KEYS[1]  the set
-- ARGV[1]  member
-- ARGV[2]  member
-- ARGV[3]  unit: m, km, mi, ft
-- Returns {0, now, distance (4 decimals)}
--         {-1, now, the first that is not there}
-- Errors: WRONGTYPE. O(log M).
--@include time
--@reads
local now = now_ms()
local distance = redis.call('GEODIST', KEYS[1], ARGV[1], ARGV[2], ARGV[3])
if distance then
  return {0, now, distance}
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return {-1, now, ARGV[2]}
end
return {-1, now, ARGV[1]}
