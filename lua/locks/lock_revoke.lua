-- lock_revoke: releases a grant that too few replicas have, and removes the idempotency record of
-- its request, so that the request can be tried again.
-- KEYS  1 the lock, 2 its readers, 3 its waiters, as for lock_release; 4 the idempotency record of
--       the request, if it has one
-- ARGV  1 hash of the token
--@reply 1 revoked, 0 not_holder
-- not_holder: the token does not hold the lock (any more).
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) when a daemon with waiters has died.
--@flags allow-oom
local token_hash = ARGV[1]
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], now, '')
local grant = lock and lock_grant_of(lock, token_hash)
if KEYS[4] then
  redis.call('UNLINK', KEYS[4])
end
if not grant then
  return { 0, now }
end
lock_settle(lock)
waiters_settle(waiters)
local _, is_held = lock_drop(lock, grant, token_hash)
lock_serve(is_held and lock or nil, waiters)
return { 1, now }
