-- geo_search: members inside a circle or a box, by distance from its centre, in some cells of a
-- set.
-- KEYS[1]  the set. KEYS[2..] cells, see geo/lib_geo_cells.lua
-- ARGV[1]  longitude of the centre
-- ARGV[2]  latitude of the centre
-- ARGV[3]  'radius' or 'box'
-- ARGV[4]  radius; width of the box
-- ARGV[5]  ''; height of the box
-- ARGV[6]  unit of these and of the reply: m, km, mi, ft
-- ARGV[7]  'ASC' or 'DESC'
-- ARGV[8]  how many at most, from all these cells together
-- ARGV[9]  the distance of the last of so many members that other cells had; '' when they had fewer
-- ARGV[10] how many cells the set has
--@reply 0: done int, found (geo_found)...
--@reply -3 resized: geo_resized
-- found is from the first `done` cells, at least one: the script begins no further cell once it may
-- have looked at some 1000 members.
-- Errors: WRONGTYPE. O(most log M) for the nearest members (lib_geo_nearest.lua). For the farthest
-- ones, and in shapes that are sparse at the centre and wide, it is O(members of a cell in the
-- shape, and near it) for the last cell; the work for the others is bounded.
--@reads
--@plain
-- The nearest members in a circle far from the poles, in a small set of one cell.
local longitude, latitude, kind, radius, unit = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local order, most, last, cells = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
if cells == '1' and #KEYS == 2 and kind == 'radius' and order == 'ASC' and last == '' and math.abs(latitude) < 60
  and radius + 0 < ((unit == 'm' or unit == 'ft') and 3000000 or 2000)
  and redis.call('HGET', KEYS[1], 'cells') == '1' then
  known = redis.call('ZCARD', KEYS[2])
  if known <= GEO_SMALL then
    local found = redis.call('GEOSEARCH', KEYS[2], 'FROMLONLAT', longitude, latitude, 'BYRADIUS', radius, unit, 'ASC',
      'WITHDIST', 'WITHHASH', 'COUNT', most)
    reply = { 0, now, 1 }
    for i = 1, #found do
      local one = found[i]
      reply[3 * i + 1], reply[3 * i + 2], reply[3 * i + 3] = one[1], one[2], one[3]
    end
  end
end
--@operation
local longitude, latitude, kind, unit, order = ARGV[1], ARGV[2], ARGV[3], ARGV[6], ARGV[7]
local width, height, most, last = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[8]), ARGV[9]
local cells, other = geo_cells(now)
if not cells then
  return other
end
local nearest = order == 'ASC'
local at, found, done, cost = { longitude, latitude }, {}, 0, 0
local shape = { kind, width, height, unit }
local other_side = shape[3] or shape[2]
local is_thin = math.max(shape[2], other_side) > 4 * math.min(shape[2], other_side)

local function comes_first(a, b)
  if nearest then
    return a[4] < b[4]
  end
  return a[4] > b[4]
end

-- narrow(distance): a member that is farther away than the nearest ones that were found need not be
-- looked for in other cells. Distances are rounded.
local ask, is_wide, is_large, is_narrow -- for this shape
local function narrow(distance)
  if nearest and shape[1] == 'radius' and distance + 0.001 < shape[2] then
    shape[2], ask, is_narrow = distance + 0.001, nil, true
  end
end

-- cut(): keeps the first `most` that were found. The members of one cell are in order.
local sources = 0
local function cut()
  if sources > 1 then
    for _, one in ipairs(found) do
      one[4] = tonumber(one[2])
    end
    table.sort(found, comes_first)
  end
  for i = #found, most + 1, -1 do
    found[i] = nil
  end
  if #found == most then
    narrow(tonumber(found[most][2]))
  end
end

if last ~= '' then
  narrow(tonumber(last))
end

for i = 2, #KEYS do
  if not ask then
    ask, is_wide = geo_ask(at, shape, order, most)
    -- Of a small cell, one command reads all members in the shape. The other cells have about as
    -- many.
    is_large = nearest and (is_narrow or (known or redis.call('ZCARD', KEYS[i])) > GEO_SMALL)
  end
  ask[2] = KEYS[i]
  local here, work
  if is_large then
    here, work = geo_nearest(KEYS[i], at, shape, is_wide, most, is_narrow)
  else
    here = is_wide and geo_near_wide(ask, at, shape, order, most) or redis.call(unpack(ask))
    -- Redis looks at all members of the nine squares around the shape. If it returned fewer than
    -- were asked for, these are all members in the shape, and the shape is about a tenth of the
    -- squares, unless it is thin.
    local is_all = #here < most and not is_thin and not is_wide
    work = 10 * #here + (is_all and 0 or redis.call('ZCARD', KEYS[i]))
  end
  for j, one in ipairs(here) do
    if j > most then
      break
    end
    found[#found + 1] = one
  end
  cost, done = cost + 20 + work, i - 1
  sources = sources + (#here > 0 and 1 or 0)
  if #here > 0 and #found > most then
    cut()
  end
  if cost > 1000 then
    break
  end
end
cut()

local reply, n = { 0, now, done }, 3
for _, one in ipairs(found) do
  reply[n + 1], reply[n + 2], reply[n + 3] = one[1], one[2], one[3]
  n = n + 3
end
return reply
