-- lock_extend: sets the remaining time of a grant, longer or shorter; never revives one that
-- expired.
-- KEYS  1 the lock: hash, TTL; 2 its readers: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 ttl from now, ms; 2 hash of the token
-- Returns {1, now, fence, holds, expires_at}
--         {-1, now} the token does not hold it
-- A replay: the reply of then, with the expires_at of now, while the token holds it.
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time wake waiters lock
--@idempotent
local now = now_ms()
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = redis.call('ZCARD', KEYS[3])
local grant = lock and lock_grant_of(lock, ARGV[2])
if granted then
  granted[5] = grant and lock_grant_until(lock, grant)
  return grant and granted
elseif not grant then
  return {-1, now}
end
local ttl_ms, was_until = tonumber(ARGV[1]), lock.expires_at_ms
lock_settle(lock)
lock_renew(lock, grant, now + ttl_ms)
lock_tell_end(lock, waiters > 0, was_until)
local fence = grant.fence and tonumber(grant.fence) or lock.fence
return {1, now, fence, grant.tokens and #grant.tokens or lock.holds, now + ttl_ms}, true
