-- lock_revoke: takes a grant back that too few replicas have, and forgets the request that made it:
-- it may be tried again.
-- KEYS  1 the lock, 2 its readers, 3 its waiters, 4 its offer, as of lock_release; 5 the
--       idempotency record of the request, if it has one
-- ARGV  1 hash of the token
-- Returns {1, now}; {0, now} the token held nothing any more
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) when a daemon with waiters has died.
--@include time wake waiters lock
--@flags allow-oom
local now = now_ms()
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], KEYS[4], now, '')
local grant = lock and lock_grant_of(lock, ARGV[1])
if KEYS[5] then
  redis.call('UNLINK', KEYS[5])
end
if not grant then
  return { 0, now }
end
lock_settle(lock)
waiters_settle(waiters)
local was_until = lock.expires_at_ms
if lock_drop(lock, grant, ARGV[1]) == 0 then
  lock_offer(nil, waiters, now)
else
  lock_tell_end(lock, waiters.head, was_until)
end
return { 1, now }
