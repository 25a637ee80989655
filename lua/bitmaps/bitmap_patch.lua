-- bitmap_patch: sets when a bitmap expires.
-- KEYS[1]  the bitmap
-- ARGV[1]  in how many ms; 'null' for never, '' to leave it as it is
--@reply 1: bitmap
--@reply -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local ttl = ARGV[1]
local bytes = redis.call('STRLEN', KEYS[1])
if bytes == 0 and redis.call('EXISTS', KEYS[1]) == 0 then -- an empty bitmap exists
  return { -1, now }
end
local at = expiry_after(ttl, now, expiry_at(KEYS))
expire(KEYS, at)
return { 1, now, bytes, expiry_reply(at) }
