-- set_state(key, now): the reply {0, now, ...} for a set; expires_at_ms is -1 for never. Raises
-- WRONGTYPE. O(1). This module must not know the members.
--@shape set: size int, expires_at_ms int
local function set_state(key, now)
  return { 0, now, redis.call('SCARD', key), expiry_reply(expiry_at({ key })) }
end
