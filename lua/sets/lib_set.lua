-- set_state(key, now): {0, now, ...} of a set; expires_at_ms -1: never. WRONGTYPE is raised. O(1).
--@shape set: size int, expires_at_ms int
local function set_state(key, now)
  return { 0, now, redis.call('SCARD', key), expiry_reply(expires_at({ key })) }
end
