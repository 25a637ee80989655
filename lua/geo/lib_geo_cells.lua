-- A geo set is a hash (cells, size; `kept` when PUT or PATCH made it) and that many sorted sets of
-- GEOADD, the cells, which expire with it. A hash of a member's name chooses its cell, so a member
-- that moves stays in its cell. Only Redis knows how many cells a set has. So a caller first
-- assumes the cells of a set without settings: KEYS[2..] are the cells it needs, and the last of
-- ARGV is how many cells it assumes the set to have. This module must not know which cell has which
-- member: the caller chooses the cells.

-- geo_cells(now): removes the last of ARGV. Returns how many cells the set has, nil, and whether
-- there is no set yet. If KEYS[1] holds something else, it returns nil and an error. If the caller
-- assumes another number, it returns nil and a reply with the outcome -3. This reply has the number
-- for the next call:
--@shape geo_resized: cells int
local function geo_cells(now)
  local given = tonumber(table.remove(ARGV))
  local cells, is_new = tonumber(redis.call('HGET', KEYS[1], 'cells') or ''), false
  if not cells then
    is_new, cells = redis.call('EXISTS', KEYS[1]) == 0, GEO_DEFAULT_CELLS
    if not is_new then
      return nil, redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
    end
  end
  if given ~= cells then
    return nil, { -3, now, cells }
  end
  return cells, nil, is_new
end

-- geo_groups(stride): the arguments for each of KEYS[2..], as {key, args}. For each of KEYS[2..]
-- ARGV has a count, and then that many times `stride` arguments.
local function geo_groups(stride)
  local groups, at = {}, 1
  for i = 2, #KEYS do
    local last, args = at + tonumber(ARGV[at]) * stride, {}
    for j = at + 1, last do
      args[#args + 1] = ARGV[j]
    end
    groups[#groups + 1] = { KEYS[i], args }
    at = last + 1
  end
  return groups
end
