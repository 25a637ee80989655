-- geo_size(): how many members the set at KEYS[1] has, and in how many cells they lie
-- (geo/lib_geo_cells.lua), 1 when it is not split. nil and an error when KEYS[1] is not ours.
local function geo_size()
  if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then
    return redis.call('ZCARD', KEYS[1]), 1
  end
  local split = redis.call('HMGET', KEYS[1], 'size', 'cells')
  if not split[1] or not split[2] then
    return nil, redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
  return tonumber(split[1]), tonumber(split[2])
end
