-- A set of geo: a hash (cells, size; `kept` when PUT or PATCH made it) and that many sorted sets of
-- GEOADD beside it, the cells, that all expire with it. Which cell a member is in is a hash of its
-- name, so a member that moves stays in its cell. A caller learns only from Redis how many there
-- are. So each script is called with the cells that a set without settings would have; KEYS[2..]
-- are the cells it needs, and the last of ARGV is how many cells the caller takes the set to have.
--@include geo_default

-- geo_cells(now): how many cells the set has, and the last of ARGV is gone. The third value is
-- whether there is no set yet. nil and what to answer when the caller takes it to have another
-- number. The number, for another call, is in the reply of outcome -3:
--@shape geo_again: cells int
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
    return nil, {-3, now, cells}
  end
  return cells, nil, is_new
end

-- geo_groups(stride): what ARGV has for each of KEYS[2..], as {key, args}: a count, and then so
-- many times `stride` arguments.
local function geo_groups(stride)
  local groups, at = {}, 1
  for i = 2, #KEYS do
    local last, args = at + tonumber(ARGV[at]) * stride, {}
    for j = at + 1, last do
      args[#args + 1] = ARGV[j]
    end
    groups[#groups + 1] = {KEYS[i], args}
    at = last + 1
  end
  return groups
end
