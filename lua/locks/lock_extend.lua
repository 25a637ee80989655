-- lock_extend: sets the remaining time of a grant, longer or shorter. It never revives a grant that
-- expired.
-- KEYS  1 the lock: hash, TTL; 2 its readers: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 ttl from now, ms; 2 hash of the token
--@reply 1 extended: fence int, holds int, expires_at_ms int
--@reply -1 not_holder
-- A replay returns the first reply with the present expires_at_ms, while the token holds the lock.
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) when a daemon with waiters has died.
--@idempotent proof
local ttl_ms, token_hash = tonumber(ARGV[1]), ARGV[2]
local lock = lock_read(KEYS[1], KEYS[2], now)
local is_awaited = redis.call('ZCARD', KEYS[3]) > 0
local grant = lock and lock_grant_of(lock, token_hash)
if granted then
  granted[5] = grant and lock_grant_until(lock, grant)
  return grant and granted
elseif not grant then
  return { -1, now }
end
local waiters = is_awaited and waiters_read(KEYS[1], KEYS[3], now, '')
lock_settle(lock)
lock_renew(lock, grant, now + ttl_ms)
if waiters then
  waiters_settle(waiters)
  lock_serve(lock, waiters)
end
local fence = grant.fence and tonumber(grant.fence) or lock.fence
return { 1, now, fence, grant.tokens and #grant.tokens or lock.holds, now + ttl_ms }, true, ttl_ms
