-- geo_distance_get: how far two members of a set are from each other.
-- KEYS[1]  the set. KEYS[2], KEYS[3] the members' cells
-- ARGV[1]  member
-- ARGV[2]  member
-- ARGV[3]  unit: m, km, mi, ft
-- ARGV[4]  how many cells
--@reply 0: distance real
--@reply -1 absent: member text
--@reply -3 resized: geo_resized
-- The distance has 4 decimals. member is the first that is not in the set.
-- Errors: WRONGTYPE. O(log M).
--@reads
local from, to, unit = ARGV[1], ARGV[2], ARGV[3]
local cells, other = geo_cells(now)
if not cells then
  return other
end
local at = {}
for i = 1, 2 do
  at[i] = redis.call('GEOPOS', KEYS[i + 1], ARGV[i])[1]
  if not at[i] then
    return { -1, now, ARGV[i] }
  end
end
if KEYS[2] == KEYS[3] then
  return { 0, now, redis.call('GEODIST', KEYS[2], from, to, unit) }
end
return { 0, now, format('%.4f', geo_metres(at[1], at[2]) / geo_unit[unit]) }
