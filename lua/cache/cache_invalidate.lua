-- cache_invalidate: deletes a value and its valid ticket, now and once more. The second time is an
-- expiry in Redis: what is made before that instant expires at it (cache_put, cache_fill), so the
-- daemon need not do it. If two such instants are closer together than a grain, only the later one
-- is kept. A grain is 1/64 of the distance from now, rounded up to a power of two. So however often
-- a key is invalidated, it has at most 65 instants, about 1400 if the distances are of all sizes.
-- KEYS[1]  the value
-- KEYS[2]  the valid ticket
-- KEYS[3]  when invalidations are to be repeated: sorted set; its TTL ends at the last instant
-- KEYS[4]  its waiters (lib/waiters.lua): the first may get a ticket
-- ARGV[1]  in how many ms it is to be repeated
--@reply 1: deleted int, again_at_ms int
-- deleted is 1 when there was a value, else 0.
-- Errors: WRONGTYPE, nothing done. O(log n), and O(1) for each instant that has passed; O(waiters)
-- when a daemon with waiters has died.
--@idempotent
--@flags allow-oom
local again_after = tonumber(ARGV[1])
local GRAINS = 64
local version = cache_version(KEYS[1])
local ticket = redis.call('GET', KEYS[2])
local last_at = redis.call('ZCARD', KEYS[3]) > 0 and redis.call('PEXPIRETIME', KEYS[3]) or now

local grain = 1
while grain * GRAINS < again_after do
  grain = grain * 2
end
local at = now + again_after
local member = format('%d', grain) .. ':' .. format('%d', math.floor(at / grain))
if ticket and redis.call('EXISTS', KEYS[4]) == 1 then
  local waiters = waiters_read(KEYS[1], KEYS[4], now, '')
  waiters_settle(waiters)
  cache_serve(waiters, nil)
end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', format('%d', now))
redis.call('ZADD', KEYS[3], 'GT', format('%d', at), member)
redis.call('PEXPIREAT', KEYS[3], format('%d', math.max(at, last_at)))
return { 1, now, version and 1 or 0, tonumber(redis.call('ZSCORE', KEYS[3], member)) }
