-- set_state(key, now): the reply {0, now, ...} for a set; {-1, now, ...} for an absent one, which
-- is empty. expires_at_ms is -1 for never. Raises WRONGTYPE. O(1).
--@shape set: size int, expires_at_ms int
local function set_state(key, now)
  local size = redis.call('SCARD', key)
  return { size > 0 and 0 or -1, now, size, expiry_reply(expiry_at({ key })) }
end
