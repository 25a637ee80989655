-- lock_release: gives back one token, or all; the lock is free when it was the last. Its fence stays.
-- KEYS[1]  the lock: hash, TTL
-- ARGV[1]  hash of the token
-- ARGV[2]  '1': whoever holds it; the token is not looked at
-- Returns {1, now, holds left}
--         {-1, now} the token does not hold it (any more), or nobody holds it: nothing is freed twice
-- Errors: WRONGTYPE, nothing done. O(1); what the last one frees is freed in the background.
--@include time lock
--@flags allow-oom
local now = now_ms()
local lock = lock_read(KEYS[1])
local is_forced = ARGV[2] == '1'
if not lock or not (is_forced or lock_is_held_by(KEYS[1], ARGV[1])) then
  return {-1, now}
end
local left = is_forced and 0 or lock[4] - 1
if left > 0 then
  redis.call('HDEL', KEYS[1], 't:' .. ARGV[1])
else
  redis.call('UNLINK', KEYS[1])
end
return {1, now, left}
