-- semaphore_delete: ends all permits and forgets the limit. Waiters keep their order; the first
-- ones get offers.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) when a daemon with waiters has died; Redis
-- frees the memory in the background.
--@flags allow-oom
local s = semaphore_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], now, '')
local removed = redis.call('UNLINK', KEYS[1], KEYS[2])
s.held = 0
waiters_settle(waiters)
semaphore_serve(s, waiters)
return { removed > 0 and 1 or 0, now }
