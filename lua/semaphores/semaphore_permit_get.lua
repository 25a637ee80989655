-- semaphore_permit_get: until when a permit is valid.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 hash of the permit
--@reply 1 valid: expires_at_ms int, owner text
--@reply -1 ended
-- ended: the permit has expired, was released, or never existed.
-- Errors: WRONGTYPE. O(log permits).
--@reads
local permit = ARGV[1]
local expires_at_ms = semaphore_holds(semaphore_read(KEYS[1], KEYS[2], now), permit)
if not expires_at_ms then
  return { -1, now }
end
return { 1, now, expires_at_ms, redis.call('HGET', KEYS[1], 'o:' .. permit) or '' }
