-- set_patch: sets when a set expires.
-- KEYS[1]  the set
-- ARGV[1]  in how many ms; 'null' for never, '' to leave it as it is
--@reply 1: set
--@reply -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local ttl = ARGV[1]
local state = set_state(KEYS[1], now)
if state[1] < 0 then
  return { -1, now }
end
local at = expiry_after(ttl, now, expiry_at(KEYS))
expire(KEYS, at)
state[1], state[4] = 1, expiry_reply(at)
return state
