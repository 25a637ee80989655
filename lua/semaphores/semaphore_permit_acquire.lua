-- semaphore_permit_acquire: takes one of `limit` permits, unless others were there before.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3, 4 its waiters and their offer
--       (lib/waiters.lua)
-- ARGV  1 limit; 2 ttl, ms; 3 owner, '' for none; 4 hash of the new permit; 5 the permit, sealed:
--       returned as it is, for a replay; 6 ticket, its mode the limit, '' for a request that does
--       not wait; 7 how long it may still wait, ms: 0 for the last try
-- Returns {1, now, held, expires_at, owner, sealed} taken
--         {0, now, next_at, held, waiters} not now; next_at is when trying again may help
-- A replay: the reply of then, with the held and expires_at of now, while the permit is good.
-- Errors: WRONGTYPE, nothing done. O(log permits), O(waiters) when a daemon with waiters has died.
--@include time wake waiters semaphore
--@idempotent
local limit, ttl_ms, owner, permit, sealed = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local ticket, wait_ms = ARGV[6], tonumber(ARGV[7])
local t = redis.call('TIME')
local now_us = t[1] * 1000000 + t[2]
local now = math.floor(now_us / 1000)
local s = semaphore_read(KEYS[1], KEYS[2], now)
if granted then
  granted[3], granted[4] = s.held, semaphore_holds(s, proof)
  return granted[4] and granted
end
local waiters = waiters_read(KEYS[1], KEYS[3], KEYS[4], now, ticket)
local is_my_turn = not waiters.head or waiters.head == ticket
waiters_settle(waiters)
semaphore_settle(s)

if is_my_turn and s.held < limit then
  s.limit, s.held = limit, s.held + 1
  redis.call('HSET', KEYS[1], 'limit', digits(limit), 'o:' .. permit, owner)
  semaphore_grant(s, permit, now + ttl_ms)
  if ticket ~= '' then
    waiters_leave(waiters, ticket)
  end
  semaphore_offer(s, waiters)
  if waiters.head and ttl_ms < OFFER_MS then -- no script checks sooner whether it came
    wake(KEYS[1], 0, ttl_ms)
  end
  return { 1, now, s.held, now + ttl_ms, owner, sealed }, permit
end
if ticket ~= '' and wait_ms > 0 then
  waiters_join(waiters, ticket, now_us)
elseif ticket ~= '' then
  waiters_leave(waiters, ticket)
end
semaphore_offer(s, waiters)
local next_at = tonumber(redis.call('ZRANGE', KEYS[2], digits(now), '+inf', 'BYSCORE', 'LIMIT', '0', '1',
  'WITHSCORES')[2] or now + OFFER_MS)
if s.held < limit and waiters.offered_until > 0 then
  next_at = math.min(next_at, waiters.offered_until)
end
return { 0, now, next_at, s.held, redis.call('ZCARD', KEYS[3]) }
