-- lock_look: who holds a lock, and until when.
-- KEYS[1]  the lock: hash, TTL
-- KEYS[2]  its last fence; or no key, for a shorter look: the fence of a free lock is then 0, and metadata ''
-- Returns {0, now, fence, owner, mode, holds, expires_at, metadata} held
--         {-1, now, last fence} free
-- Errors: WRONGTYPE. O(1).
--@include time lock
--@reads
local now = now_ms()
local lock = lock_read(KEYS[1])
if not lock then
  return {-1, now, KEYS[2] and lock_last_fence(KEYS[2]) or 0}
end
return {0, now, lock[1], lock[2], lock[3], lock[4], lock[5], KEYS[2] and redis.call('HGET', KEYS[1], 'metadata') or ''}
