-- geo_added(cells, added, is_new): counts members that were added to KEYS[2..] of a set with
-- `cells` cells, makes the set if there was none, and lets new cells expire with it.
local function geo_added(cells, added, is_new)
  if is_new then
    redis.call('HSET', KEYS[1], 'cells', format('%d', cells), 'size', format('%d', added))
    made = { KEYS[1] }
  elseif added > 0 then
    redis.call('HINCRBY', KEYS[1], 'size', format('%d', added))
    local at = expiry_at({ KEYS[1] })
    if at then
      expire(KEYS, at)
    end
  end
end
