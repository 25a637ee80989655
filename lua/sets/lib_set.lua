-- set_state(key, now): {0, now, members, expires_at (-1: never)}. WRONGTYPE is raised. O(1).
local function set_state(key, now)
  return { 0, now, redis.call('SCARD', key), expiry_reply(expires_at({ key })) }
end
