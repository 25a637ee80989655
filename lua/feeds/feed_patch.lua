-- feed_patch: sets when a feed expires.
-- KEYS     the keys of a feed (feeds/lib_feed.lua)
-- ARGV[1]  in how many ms; 'null' for never, '' to leave it as it is
--@reply 1: feed
--@reply -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local ttl = ARGV[1]
local state = feed_state(KEYS, now)
if state[1] < 0 then
  return { -1, now }
end
local at = expiry_after(ttl, now, expiry_at(KEYS))
expire(KEYS, at)
state[1], state[5] = 1, expiry_reply(at)
return state
