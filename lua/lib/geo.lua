-- geo_places(key, members): longitude, latitude and geohash of each as one flat array, three empty texts for one that
-- is not there. O(N).
local function geo_places(key, members)
  local flat = {}
  if #members == 0 then
    return flat
  end
  local at = redis.call('GEOPOS', key, unpack(members))
  local hash = redis.call('GEOHASH', key, unpack(members))
  for i = 1, #members do
    local place = at[i] or {'', ''}
    flat[#flat + 1] = place[1]
    flat[#flat + 1] = place[2]
    flat[#flat + 1] = hash[i] or ''
  end
  return flat
end
