-- lock_get: the holder of a lock, and until when.
-- KEYS  1 the lock: hash, TTL; 2 its readers: sorted set, TTL; 3 its waiters, 4 its last fence; or
--       only the first two or three, for a shorter look: the fence of a free lock is then 0,
--       metadata '', and waiters 0 without the third
--@reply 0 held: waiters int, fence int, mode text, holds int, expires_at_ms int, metadata text,
-- holders (lock_holder)...
--@reply -1 free: waiters int, fence int
-- fence is the last one.
-- Errors: WRONGTYPE. O(1).
--@include time last_fence waiters lock
--@reads
local now = now_ms()
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = KEYS[3] and waiters_count(KEYS[3]) or 0
if not lock then
  return {-1, now, waiters, KEYS[4] and last_fence(KEYS[4]) or 0}
end
local metadata = KEYS[4] and redis.call('HGET', KEYS[1], 'metadata') or ''
local reply = {0, now, waiters, lock.fence, lock.mode, lock.holds, lock.expires_at_ms, metadata}
for _, value in ipairs(lock_holders(lock)) do
  reply[#reply + 1] = value
end
return reply
