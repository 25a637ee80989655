-- A set of geo: one sorted set at KEYS[1]; or, when it has settings, a hash there (cells, size) and
-- that many sorted sets beside it, the cells, that all expire with it. Which cell a member is in is
-- a hash of its name, so a member that moves stays in its cell. A caller learns only from Redis
-- whether a set is split. So each script may be called with the set alone, as if it were not; or
-- with cells as KEYS[2..] and, as the last of ARGV, how many cells the caller takes the set to
-- have.

-- geo_cells(now): how many cells the set has, 0 when it is not split; takes the last of ARGV away.
-- The third value is whether there is no set yet. nil and what to answer when the caller takes it
-- to have another number, or KEYS[1] is not ours. The number, for another call (0: with the set
-- alone), is in the reply of outcome -3:
--@shape geo_again: cells int
local function geo_cells(now)
  local cells, given = 0, 0
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind == 'hash' then
    cells = tonumber(redis.call('HGET', KEYS[1], 'cells') or '')
    if not cells then
      return nil, redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
    end
  end
  if #KEYS > 1 then
    given = tonumber(table.remove(ARGV))
  end
  if given ~= cells then
    return nil, {-3, now, cells}
  end
  return cells, nil, kind == 'none'
end

-- geo_groups(stride): what ARGV has for each sorted set, as {key, args}: all of it when the set is
-- not split; else for each of KEYS[2..] a count, and then so many times `stride` arguments.
local function geo_groups(stride)
  if #KEYS == 1 then
    return {{KEYS[1], ARGV}}
  end
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
