-- semaphore_permit_leave: releases a permit, or removes a waiter that disconnected from the wait
-- queue.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3 its waiters (lib/waiters.lua)
-- ARGV  1 ticket, '' for none; 2 hash of the permit, '' for none
--@reply 1 released, 0 released_before, -1 ended
-- released_before: the permit was released within the last minute. ended: it is not valid (any
-- more).
-- Errors: WRONGTYPE, nothing done. O(log permits), O(waiters) when a daemon with waiters has died.
--@flags allow-oom
--@plain
-- A permit of a semaphore without waiters.
local ticket, permit = ARGV[1], ARGV[2]
if ticket == '' and redis.call('EXISTS', KEYS[3]) == 0 then
  local expires_at = redis.call('ZSCORE', KEYS[2], permit)
  if expires_at and expires_at + 0 >= now then
    redis.call('HDEL', KEYS[1], 'o:' .. permit)
    redis.call('ZADD', KEYS[2], format('%d', -now - RELEASED_MS), permit)
    reply = { 1, now }
  end
end
--@operation
local ticket, permit = ARGV[1], ARGV[2]
local s = semaphore_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], now, ticket)
local held = permit ~= '' and semaphore_holds(s, permit)
local released = not held and permit ~= '' and semaphore_was_released(s, permit)
waiters_settle(waiters)
if ticket ~= '' then
  waiters_leave(waiters)
end
if held then
  semaphore_drop(s, permit)
end
semaphore_serve(s, waiters)
return { held and 1 or released and 0 or -1, now }
