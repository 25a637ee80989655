-- Places and distances, as Redis computes them. This module must not know which cell has which
-- member.
-- geo_places(key, members): the place of each member, all in one flat array. The geohash of an
-- absent member is ''. O(N).
--@shape geo_place: longitude real, latitude real, geohash text
local function geo_places(key, members)
  local flat = {}
  if #members == 0 then
    return flat
  end
  local at = redis.call('GEOPOS', key, unpack(members))
  local hash = redis.call('GEOHASH', key, unpack(members))
  for i = 1, #members do
    local place = at[i] or { '0', '0' }
    flat[#flat + 1] = place[1]
    flat[#flat + 1] = place[2]
    flat[#flat + 1] = hash[i] or ''
  end
  return flat
end

-- The metres of each unit, as in Redis.
local geo_unit = { m = 1, km = 1000, mi = 1609.34, ft = 0.3048 }

-- geo_metres(a, b): the distance of two places of GEOPOS, by Redis's own formula and radius.
local function geo_metres(a, b)
  local lon_a, lat_a = math.rad(tonumber(a[1])), math.rad(tonumber(a[2]))
  local lon_b, lat_b = math.rad(tonumber(b[1])), math.rad(tonumber(b[2]))
  local u, v = math.sin((lat_b - lat_a) / 2), math.sin((lon_b - lon_a) / 2)
  return 2 * 6372797.560856 * math.asin(math.sqrt(u * u + math.cos(lat_a) * math.cos(lat_b) * v * v))
end
