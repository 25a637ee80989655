-- semaphore_get: how many permits are held, and until when.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
--@reply 0, -1 absent: limit int, held int, waiter_count int, holders (semaphore_holder)...
--@shape semaphore_holder: owner text, expires_at_ms int
-- limit is 0 when no permit is held. The holders are the first 16 whose permits expire.
-- Errors: WRONGTYPE. O(16 + log permits).
--@reads
local s = semaphore_read(KEYS[1], KEYS[2], now)
local reply = { s.held > 0 and 0 or -1, now, s.held > 0 and s.limit or 0, s.held, waiters_count(KEYS[3]) }
local flat = redis.call('ZRANGE', KEYS[2], format('%d', now), '+inf', 'BYSCORE', 'LIMIT', '0', '16', 'WITHSCORES')
for i = 1, #flat, 2 do
  reply[#reply + 1] = redis.call('HGET', KEYS[1], 'o:' .. flat[i]) or ''
  reply[#reply + 1] = tonumber(flat[i + 1])
end
return reply
