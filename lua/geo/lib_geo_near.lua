-- Searches that miss no member. GEOSEARCH checks each member's distance exactly, but looks only
-- into squares around a bounding box. That box is too small where a circle or a box reaches beyond
-- a pole (it looks at one side of the pole), and for a wide box (it takes w / cos for the length of
-- a parallel's chord). The date line needs no special case. A search reads one cell, and must not
-- know the others. A shape is {kind ('radius' or 'box'), radius or width, height of a box, unit}.

local NORTHMOST, BEYOND = math.rad(85.05112878), 1 + 1e-9
-- In radians; any stored position is farther than this from the edge of any square.
local UNSEEN = 4e-8

-- geo_wider(latitude, shape): the width and height of a box to ask Redis for instead, so that it
-- misses nothing: a wider box, or a belt around the earth, for which Redis looks at all members.
-- nil when Redis misses nothing of the shape itself.
local function geo_wider(latitude, shape)
  local radius = 6372797.560856 / geo_unit[shape[4]]
  local height = (shape[1] == 'box' and shape[3] / 2 or shape[2]) / radius
  local top = math.abs(math.rad(latitude)) + height
  if top < 1.57 then
    local half = shape[2] / 2 / radius
    local sine = math.sin(math.min(half / 2, math.pi / 2)) / math.cos(math.min(top, NORTHMOST))
    local reach = sine < 1 and 2 * math.asin(sine) or math.pi
    if shape[1] == 'radius' or reach - half / math.cos(top) < UNSEEN then
      return nil
    elseif reach < math.pi / 4 then
      return 2 * reach * math.cos(top) * radius * BEYOND, shape[3]
    end
  end
  return 8 * radius, 2 * height * radius * BEYOND
end

-- geo_is_inside(at, place, shape): whether Redis takes the place for inside of the shape.
local function geo_is_inside(at, place, shape)
  local metre = geo_unit[shape[4]]
  if shape[1] == 'radius' then
    return geo_metres(at, place) <= shape[2] * metre
  end
  return geo_metres({ at[1], place[2] }, at) <= shape[3] / 2 * metre
    and geo_metres({ at[1], place[2] }, place) <= shape[2] / 2 * metre
end

-- geo_ask(at, shape, order, most): the command that finds the first `most` members in the shape
-- around `at` (longitude, latitude), and whether it asks for a wider shape, since Redis would miss
-- members otherwise. The caller sets its key, at [2].
local function geo_ask(at, shape, order, most)
  local width, height = geo_wider(tonumber(at[2]), shape)
  local ask = { 'GEOSEARCH', '', 'FROMLONLAT', at[1], at[2], 'BYRADIUS', format('%.17g', shape[2]), shape[4],
    order, 'WITHDIST', 'WITHHASH', 'COUNT', format('%d', most) }
  if shape[1] == 'box' or width then
    ask[6] = 'BYBOX'
    ask[7] = format('%.17g', width or shape[2])
    table.insert(ask, 8, format('%.17g', height or shape[3]))
  end
  return ask, width ~= nil
end

-- geo_near_wide(ask, at, shape, order, most): the first `most` members inside of the shape, each as
-- {member, distance, score}, by a command that asks for a wider shape. For a shape that need not be
-- wider, GEOSEARCH itself returns such items. The command is repeated, each time for four times as
-- many members, until there are enough. A distance has 4 decimals. A score has 52 bits, as GEOADD
-- stores it: the daemon reads position and geohash from it.
--@shape geo_found: member text, distance real, score int
local function geo_near_wide(ask, at, shape, order, most)
  local inside, found
  local asked, count_at = most, #ask
  ask[#ask + 1] = 'WITHCOORD' -- expensive: Redis prints each with 17 digits
  repeat
    ask[count_at] = format('%d', asked)
    found, inside = redis.call(unpack(ask)), {}
    for _, one in ipairs(found) do
      if #inside < most and geo_is_inside(at, one[4], shape) then
        inside[#inside + 1] = one
      end
    end
    -- All members after the first one outside of a circle are farther away.
    local is_all = #found < asked or (shape[1] == 'radius' and order == 'ASC' and #inside < #found)
    asked = 4 * asked
  until #inside == most or is_all
  ask[#ask] = nil
  return inside
end
