-- The nearest members of a cell that may have many: a search in a small circle, which is widened
-- until it has enough. This module must not know other cells; a shape is as in lib_geo_near.lua.
--
-- ZCOUNT shows how dense members are, and reads none: the scores of members in a square of the
-- geohash follow each other. Members may be denser than this shows. So a circle is searched with
-- ANY, which ends the search when COUNT members are found, anywhere in the circle. If they are
-- fewer, they are all members of the circle, in the order of their distance. If not, the circle is
-- too large.

-- A cell with so many members is small: all in the shape are read.
local GEO_SMALL = 200
-- Searches before all members are read. Few are needed, unless members are in crowds of all sizes.
local GEO_SEARCHES = 16
local GEO_METRES = 2 * math.pi * 6372797.560856 -- around the earth
local GEO_LATITUDES = 170.10225756 -- degrees, of which a score has 26 bits

-- geo_reach(key, at, radius, wanted): the metres in which about `wanted` members are, by the number
-- of members in a square around the centre. The square is about as high as `radius`, in metres.
local function geo_reach(key, at, radius, wanted)
  local longitude, latitude = tonumber(at[1]), tonumber(at[2])
  local bits = math.max(1, math.min(24, math.floor(math.log(GEO_METRES / radius) / math.log(2))))
  local columns = 2 ^ bits
  local x = math.floor((longitude + 180) / 360 * columns)
  local y = math.floor((latitude + GEO_LATITUDES / 2) / GEO_LATITUDES * columns)
  local score, size = 0, 4 ^ (26 - bits)
  local digit = size
  for _ = 1, bits do
    score = score + digit * (y % 2 + x % 2 * 2)
    x, y, digit = math.floor(x / 2), math.floor(y / 2), digit * 4
  end
  local count = redis.call('ZCOUNT', key, format('%d', score), format('%d', score + size - 1))
  local side = GEO_METRES / columns
  local area = side * math.cos(math.rad(latitude)) * side * GEO_LATITUDES / 360
  return math.sqrt(area * wanted / math.max(count, 0.5) / math.pi)
end

-- geo_inner(latitude, shape, is_wide): the radius of a circle that has no member outside of the
-- shape, and of which Redis misses nothing. Redis measures the width of a box along the parallel of
-- the member. In a circle of r radians, the sine of half of it is at most sqrt(1 + r tan(latitude))
-- times the sine of half the distance.
local function geo_inner(latitude, shape, is_wide)
  local north, radian = math.abs(math.rad(latitude)), 6372797.560856 / geo_unit[shape[4]]
  local radius = shape[2]
  if shape[1] == 'box' then
    radius = math.min(0.45 * math.min(shape[2], shape[3]), radian * math.min(0.9, 0.2 / math.tan(north)))
  elseif is_wide then -- it reaches beyond a pole
    radius = math.min(radius, radian * (1.569 - north))
  end
  return radius
end

-- geo_circle(key, at, radius, unit, count): up to `count` members in a circle: all of them, in
-- order, if they are fewer than `count`, otherwise any of them.
local function geo_circle(key, at, radius, unit, count)
  return redis.call('GEOSEARCH', key, 'FROMLONLAT', at[1], at[2], 'BYRADIUS', format('%.17g', radius), unit, 'ASC',
    'WITHDIST', 'WITHHASH', 'COUNT', format('%d', count), 'ANY')
end

-- geo_with_ties(nearer, found): adds the members of `found`, which are not nearer, to `nearer`.
local function geo_with_ties(nearer, found)
  local known = {}
  for _, one in ipairs(nearer) do
    known[one[1]] = true
  end
  for _, one in ipairs(found) do
    if not known[one[1]] then
      nearer[#nearer + 1] = one
    end
  end
  return nearer
end

-- geo_nearest(key, at, shape, is_wide, most, is_narrow): the `most` nearest members in a shape, or
-- all if they are fewer, in the order of their distance; some more may follow. is_wide: Redis
-- misses members of the shape. is_narrow: it is a circle with about `most` members. It also returns
-- the work: about how many members Redis looked at.
local function geo_nearest(key, at, shape, is_wide, most, is_narrow)
  local unit, metre = shape[4], geo_unit[shape[4]]
  local is_circle = shape[1] == 'radius' and not is_wide
  -- A circle of radius `low` has fewer than `most` members. A circle of radius `high` has enough if
  -- is_enough. Otherwise it is the shape, or inside of it.
  local low, high, is_enough = 0, geo_inner(tonumber(at[2]), shape, is_wide), is_circle
  local wanted, bound = 1.1 * most + 2 * math.sqrt(most), math.ceil(1.5 * most + 9 * math.sqrt(most))
  local radius = is_narrow and high or geo_reach(key, at, high * metre, wanted) / metre
  local work = 0
  for _ = 1, GEO_SEARCHES do
    local is_whole = radius > 0.8 * high
    radius = is_whole and high or radius
    local found = geo_circle(key, at, radius, unit, bound)
    work = work + 20 + 10 * #found
    if #found == bound and found[most][2] == found[bound][2] then
      -- Many are equally far away, perhaps at one position. Any of them may follow those nearer.
      local last = tonumber(found[most][2])
      local nearer = last > 0 and geo_circle(key, at, math.max(last - 0.0001, 0), unit, bound) or {}
      if #nearer < bound then
        return geo_with_ties(nearer, found), work + 10 * #nearer
      end
      found = nearer
    end
    if #found == bound then
      -- It is too large. A distance is rounded.
      high, is_enough = math.min(high, tonumber(found[most][2]) + 0.001), true
      radius = math.max(1.1 * low, math.min(radius / 2, geo_reach(key, at, radius * metre, wanted) / metre))
    elseif #found >= most or is_whole and is_circle then
      return found, work
    elseif is_whole then
      break -- the rest is between this circle and the edge of the shape
    else
      low, radius = radius, radius * math.max(1.5, math.min(4, math.sqrt(wanted / (#found + 0.1))))
    end
  end
  local ask, is_ask_wide = geo_ask(at, is_enough and { 'radius', high, nil, unit } or shape, 'ASC', most)
  ask[2] = key
  local found = is_ask_wide and geo_near_wide(ask, at, shape, 'ASC', most) or redis.call(unpack(ask))
  return found, work + redis.call('ZCARD', key)
end
