-- semaphore_permit_extend: sets the remaining time of a permit, longer or shorter; never revives
-- one that expired.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 hash of the permit; 2 ttl from now, ms
-- Returns {1, now, expires_at}; {-1, now} it is not good (any more). A replay: the expires_at of
-- now, while it is good. Errors: WRONGTYPE, nothing done. O(log permits).
--@include time wake waiters semaphore
--@idempotent
local now = now_ms()
local s = semaphore_read(KEYS[1], KEYS[2], now)
local waiters = redis.call('ZCARD', KEYS[3])
local was_until = semaphore_holds(s, ARGV[1])
if granted then
  return was_until and { 1, now, was_until }
elseif not was_until then
  return { -1, now }
end
local ttl_ms = tonumber(ARGV[2])
semaphore_settle(s)
semaphore_grant(s, ARGV[1], now + ttl_ms)
if waiters > 0 and now + ttl_ms < was_until then -- sooner than the waiters know
  wake(KEYS[1], 0, ttl_ms)
end
return { 1, now, now + ttl_ms }, true
