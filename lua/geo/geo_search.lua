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
-- Errors: WRONGTYPE. O(members of a cell in the shape, and near it) for the last cell; the work for
-- the others is bounded.
--@reads
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
    return a.distance < b.distance
  end
  return a.distance > b.distance
end

-- narrow(distance): a member that is farther away than the nearest ones that were found need not be
-- looked for in other cells. Distances are rounded.
local ask, is_wide -- for this shape
local function narrow(distance)
  if nearest and shape[1] == 'radius' and distance + 0.001 < shape[2] then
    shape[2], ask = distance + 0.001, nil
  end
end

-- cut(): keeps the first `most` that were found.
local function cut()
  table.sort(found, comes_first)
  for i = #found, most + 1, -1 do
    found[i] = nil
  end
  if #found == most then
    narrow(found[most].distance)
  end
end

if last ~= '' then
  narrow(tonumber(last))
end

for i = 2, #KEYS do
  if not ask then
    ask, is_wide = geo_ask(at, shape, order, most)
  end
  ask[2] = KEYS[i]
  local here = is_wide and geo_near_wide(ask, at, shape, order, most) or redis.call(unpack(ask))
  for _, one in ipairs(here) do
    found[#found + 1] = { member = one[1], distance = tonumber(one[2]), text = one[2], score = one[3] }
  end
  -- Redis looks at all members of the nine squares around the shape. If it returned fewer than were
  -- asked for, these are all members in the shape, and the shape is about a tenth of the squares,
  -- unless it is thin.
  if #here == most or is_thin or is_wide then
    cost = cost + redis.call('ZCARD', KEYS[i])
  end
  cost, done = cost + 20 + 10 * #here, i - 1
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
  reply[n + 1], reply[n + 2], reply[n + 3] = one.member, one.text, one.score
  n = n + 3
end
return reply
