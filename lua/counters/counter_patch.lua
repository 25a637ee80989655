-- counter_patch: sets when the counters under a name expire.
-- KEYS[1]  the counters: hash
-- ARGV[1]  in how many ms; 'null' for never, '' to leave it as it is
--@reply 1: counter_state
--@reply -1 absent
-- Errors: as counter_get, nothing done. O(counters), at most 500.
--@flags allow-oom
local ttl = ARGV[1]
local state = counter_state(KEYS[1])
if #state == 0 then
  return { -1, now }
end
local at = expiry_after(ttl, now, expiry_at(KEYS))
expire(KEYS, at)
return { 1, now, expiry_reply(at), unpack(state) }
