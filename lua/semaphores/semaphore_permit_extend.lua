-- semaphore_permit_extend: sets the remaining time of a permit, longer or shorter. It never revives
-- a permit that expired.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 hash of the permit; 2 ttl from now, ms
--@reply 1 extended: expires_at_ms int
--@reply -1 ended
-- A replay returns the present expires_at_ms, while the permit is valid.
-- Errors: WRONGTYPE, nothing done. O(log permits), O(waiters) when a daemon with waiters has died.
--@idempotent proof
local permit, ttl_ms = ARGV[1], tonumber(ARGV[2])
local s = semaphore_read(KEYS[1], KEYS[2], now)
local is_awaited = redis.call('ZCARD', KEYS[3]) > 0
local was_until = semaphore_holds(s, permit)
if granted then
  return was_until and { 1, now, was_until }
elseif not was_until then
  return { -1, now }
end
local waiters = is_awaited and waiters_read(KEYS[1], KEYS[3], now, '')
semaphore_settle(s)
semaphore_grant(s, permit, now + ttl_ms)
if waiters then
  waiters_settle(waiters)
  semaphore_serve(s, waiters)
end
return { 1, now, now + ttl_ms }, true, ttl_ms
