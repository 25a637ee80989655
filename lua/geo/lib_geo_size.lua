-- geo_size(): how many members the set at KEYS[1] has, in how many cells they lie
-- (geo/lib_geo_cells.lua), 1 when it has no settings, and the key's type ('none': there is no set).
-- nil and an error when KEYS[1] is not ours. In replies, with an expires_at_ms of -1 for never:
--@shape geo_set: size int, cells int, expires_at_ms int
local function geo_size()
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= 'hash' then
    return redis.call('ZCARD', KEYS[1]), 1, kind
  end
  local settings = redis.call('HMGET', KEYS[1], 'size', 'cells')
  if not settings[1] or not settings[2] then
    return nil, redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
  return tonumber(settings[1]), tonumber(settings[2]), kind
end
