-- geo_size(): how many members the set at KEYS[1] has, in how many cells (geo/lib_geo_cells.lua),
-- and whether there is no set. It returns nil and an error when KEYS[1] holds something else. This
-- module must not know the cells, only their number. This is a set in replies; expires_at_ms is -1
-- for never:
--@shape geo_set: size int, cells int, expires_at_ms int
local function geo_size()
  local settings = redis.call('HMGET', KEYS[1], 'size', 'cells')
  if settings[1] and settings[2] then
    return tonumber(settings[1]), tonumber(settings[2]), false
  elseif redis.call('EXISTS', KEYS[1]) == 0 then
    return 0, GEO_DEFAULT_CELLS, true
  end
  return nil, redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end
