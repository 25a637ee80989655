-- lock_get: the holders of a lock, and until when they hold it.
-- KEYS  1 the lock: hash, TTL; 2 its readers: sorted set, TTL; 3 its waiters; 4 its last fence. A
--       list passes only the first three: the fence of a free lock is then 0, and all metadata ''
--@reply 0 held: waiter_count int, fence int, mode text, expires_at_ms int, holder_count int,
-- first_arrived_at_us int, holders (lock_holder)...
--@reply -1 free: waiter_count int, fence int
-- fence is the last one. first_arrived_at_us is when the first waiter arrived. It is -1 without a
-- waiter, and with four keys.
-- Errors: WRONGTYPE. O(1).
--@reads
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = waiters_count(KEYS[3])
if not lock then
  return { -1, now, waiters, KEYS[4] and fence_last(KEYS[4]) or 0 }
end
local first
if waiters > 0 and not KEYS[4] then
  first = redis.call('ZRANGE', KEYS[3], waiters_since(), '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
end
local reply = {
  0, now, waiters, lock.fence, lock.mode, lock.expires_at_ms, lock.holder_count, tonumber(first or -1),
}
for _, value in ipairs(lock_holders(lock, KEYS[4])) do
  reply[#reply + 1] = value
end
return reply
