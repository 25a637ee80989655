-- geo_added(cells, added): after members were added to KEYS[2..] of a set with `cells` cells:
-- counts them, and lets cells that they made expire with the set. Needs lib/expiry.lua.
local function geo_added(cells, added)
  if cells == 0 or added == 0 then
    return
  end
  redis.call('HINCRBY', KEYS[1], 'size', added)
  local at = expires_at({KEYS[1]})
  if at then
    expire(KEYS, at)
  end
end
