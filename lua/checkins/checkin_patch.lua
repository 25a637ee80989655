-- checkin_patch: changes when the check-ins of a name expire.
-- KEYS[1]  the check-ins of a name
-- ARGV[1]  ttl_ms, as lua/lib/expiry.lua reads it
--@reply 1 changed, 0 unchanged: expires_at_ms int
--@reply -1 absent
-- unchanged: ttl_ms is ''. expires_at_ms is -1 for never.
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local ttl = ARGV[1]
if redis.call('HLEN', KEYS[1]) == 0 then
  return { -1, now }
end
local at = expiry_after(ttl, now, expiry_at(KEYS))
if ttl == '' then
  return { 0, now, expiry_reply(at) }
end
expire(KEYS, at)
return { 1, now, expiry_reply(at) }
