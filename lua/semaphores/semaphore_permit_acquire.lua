-- semaphore_permit_acquire: acquires one of `limit` permits, unless other clients waited before.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua); 4
--       the index of names (lib/made.lua)
-- ARGV  1 limit; 2 ttl, ms; 3 owner, '' for none; 4 hash of the new permit; 5 the permit, sealed:
--       returned as it is, for a replay; and only of a request that waits: 6 ticket, whose mode is
--       the limit; 7 how long it may still wait, ms: 0 for the last try; 8 how long it has waited,
--       us
--@reply 1 taken: held int, expires_at_ms int, owner text, sealed text
--@reply 0 none_free: semaphore_refusal
--@shape semaphore_refusal: next_at_ms int, held int, waiter_count int
-- next_at_ms is when another try may succeed; for a ticket that still waits, when it should try
-- (-1: when it is notified).
-- A replay returns the first reply with the present held and expires_at_ms, while the permit is
-- valid.
-- Errors: WRONGTYPE, nothing done. O(log permits), O(waiters) when a daemon with waiters has died.
--@idempotent proof
--@plain
-- A semaphore that has been used and has room, without waiters. Few permits of it have expired.
local limit, ttl_ms, owner, permit, sealed = ARGV[1], ARGV[2] + 0, ARGV[3], ARGV[4], ARGV[5]
local from = format('%d', now)
if redis.call('EXISTS', KEYS[3]) == 0 and (redis.call('HGET', KEYS[1], 'limit') or ''):find('^[1-9]%d*$') then
  local held = redis.call('ZCOUNT', KEYS[2], from, '+inf') + 1
  if held <= limit + 0 and redis.call('ZCOUNT', KEYS[2], '-' .. from, '(' .. from) < MOST_GONE then
    local expires_at = now + ttl_ms
    redis.call('HSET', KEYS[1], 'limit', limit, 'o:' .. permit, owner)
    redis.call('ZADD', KEYS[2], format('%d', expires_at), permit)
    local last = redis.call('ZRANGE', KEYS[2], '-1', '-1', 'WITHSCORES')[2]
    redis.call('PEXPIREAT', KEYS[1], last)
    redis.call('PEXPIREAT', KEYS[2], last)
    reply, proves, lasts_ms = { 1, now, held, expires_at, owner, sealed }, permit, ttl_ms
  end
end
--@operation
local limit, ttl_ms, owner, permit, sealed = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local ticket, wait_ms, waited_us = ARGV[6] or '', tonumber(ARGV[7] or 0), tonumber(ARGV[8] or 0)
local s = semaphore_read(KEYS[1], KEYS[2], now)
if granted then
  granted[3], granted[4] = s.held, semaphore_holds(s, proof)
  return granted[4] and granted
end
local waiters = waiters_read(KEYS[1], KEYS[3], now, ticket)
local has_turn = waiters.is_called and s.held < limit or
  waiters_is_next(waiters, now_us, waited_us) and semaphore_has_room(s, waiters, limit)
waiters_settle(waiters)
semaphore_settle(s)

if has_turn then
  local is_new = s.limit == 0
  s.limit, s.held = limit, s.held + 1
  redis.call('HSET', KEYS[1], 'limit', format('%d', limit), 'o:' .. permit, owner)
  semaphore_grant(s, permit, now + ttl_ms)
  if is_new then
    made = { KEYS[1] }
  end
  if ticket ~= '' then
    waiters_leave(waiters)
  end
  semaphore_serve(s, waiters)
  return { 1, now, s.held, now + ttl_ms, owner, sealed }, permit, ttl_ms
end
if ticket ~= '' and wait_ms > 0 then
  waiters_join(waiters, now_us, waited_us)
elseif ticket ~= '' then
  waiters_leave(waiters)
end
semaphore_serve(s, waiters)
local next_at = semaphore_next_end(s) or now + OFFER_MS
if ticket ~= '' and wait_ms > 0 then
  next_at = waiters.look_at or -1
elseif s.held < limit and waiters.called[1] then
  next_at = math.min(next_at, waiters.until_of[waiters.called[1]])
end
return { 0, now, next_at, s.held, waiters_count(KEYS[3]) }
