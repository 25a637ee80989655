-- key_ttl_put: sets when Redis removes a key, and wakes the waiters of the resource that it is a
-- part of.
-- KEYS  1 any key; 2 the first key of the resource that it may be a part of, 3 the waiters of
--       that resource (lib/waiters.lua); a key without a hash tag has neither
-- ARGV[1]  in how many ms; '' for never
--@reply 1: key_state
--@reply -1 absent
-- Errors: none. O(waiters).
--@flags allow-oom
local ttl_ms = ARGV[1]
local kind, _, size = key_state(KEYS[1])
if kind == 'none' then
  return { -1, now }
end
if ttl_ms == '' then
  redis.call('PERSIST', KEYS[1])
  return { 1, now, kind, -1, size }
end
local expires_at = now + tonumber(ttl_ms)
redis.call('PEXPIREAT', KEYS[1], format('%d', expires_at))
waiters_wake_all(KEYS[2], KEYS[3], ttl_ms + 1) -- Redis removes a key after its instant, not at it
return { 1, now, kind, expires_at, size }
