-- lock_extend: sets a held lock's remaining time, longer or shorter; never revives one that expired.
-- KEYS[1]  the lock: hash, TTL
-- ARGV[1]  ttl from now, ms
-- ARGV[2]  hash of the token
-- Returns {1, now, fence, holds, expires_at}
--         {-1, now} the token does not hold it
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time lock
--@idempotent
local now = now_ms()
local lock = lock_read(KEYS[1])
if not lock or not lock_is_held_by(KEYS[1], ARGV[2]) then
  return {-1, now}
end
local expires_at_ms = now + tonumber(ARGV[1])
redis.call('PEXPIREAT', KEYS[1], digits(expires_at_ms))
return {1, now, lock[1], lock[4], expires_at_ms}
