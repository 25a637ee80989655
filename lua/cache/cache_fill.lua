-- cache_fill: reads a value, or gives one client the ticket to make it; others may wait.
-- KEYS  1 the value; 2 the valid ticket: text, TTL; 3 when invalidations are to be repeated; for a
--       request that waits also 4 its waiters (lib/waiters.lua)
-- ARGV  1 a ticket; 2 how long it is to be valid, ms; for a request that waits also 3 its ticket in
--       the wait queue; 4 how long it may still wait, ms: 0 for the last try; 5 how long it has
--       waited, us
--@reply 1 granted: ticket text, expires_at_ms int
--@reply 0: cached
--@reply -1 in_progress: retry_at_ms int, look_at_ms int
-- granted: there is no value, and the given ticket is valid now. in_progress: there is no value,
-- and another ticket is valid until retry_at_ms. look_at_ms is when a request that still waits
-- should try again (-1: when it is notified). cache_put removes the wait queue, so a request that
-- finds a value need not leave it.
-- Nothing is reserved for waiters: the ticket goes to the first request that finds no valid one,
-- since the value is for all of them.
-- A replay returns the first reply, while that ticket is valid.
-- Errors: WRONGTYPE, nothing done. O(1) and the value's bytes, O(log waiters) for a request that
-- waits, O(waiters) when a daemon with waiters has died.
--@idempotent proof
local given, valid_ms, waiter = ARGV[1], ARGV[2] + 0, ARGV[3]
local wait_ms, waited_us = (ARGV[4] or 0) + 0, (ARGV[5] or 0) + 0
local version = cache_version(KEYS[1])
local ticket = redis.call('GET', KEYS[2])
if granted then
  return ticket == granted[3] and granted
end
local expires_at = cache_end(KEYS[3], now, now + valid_ms)
if version then
  return cache_read(KEYS[1], now, version, 0)
end
if not ticket and waited_us == 0 then
  redis.call('SET', KEYS[2], given, 'PXAT', format('%d', expires_at))
  return { 1, now, given, expires_at }, true, expires_at - now
end
local ends_at = ticket and redis.call('PEXPIRETIME', KEYS[2])
if not waiter then
  return { -1, now, ends_at, -1 }
end
local waiters = waiters_read(KEYS[1], KEYS[4], now, waiter)
waiters_settle(waiters)
if not ticket then
  redis.call('SET', KEYS[2], given, 'PXAT', format('%d', expires_at))
  waiters_leave(waiters)
  cache_serve(waiters, expires_at)
  return { 1, now, given, expires_at }, true, expires_at - now
end
if wait_ms > 0 then
  waiters_join(waiters, now_us, waited_us)
else
  waiters_leave(waiters)
end
cache_serve(waiters, ends_at)
return { -1, now, ends_at, waiters.look_at or -1 }
