-- cache_leave: removes a waiter that disconnected from the wait queue, or takes back a ticket whose
-- client disconnected before it received it. The next waiter may make the value.
-- KEYS  1 the value; 2 the valid ticket; 3 its waiters (lib/waiters.lua)
-- ARGV  1 ticket in the wait queue, '' for none; 2 ticket to make the value, '' for none
--@reply 1 taken_back, 0 left
-- Errors: WRONGTYPE, nothing done. O(log waiters), O(waiters) when a daemon with waiters has died.
--@flags allow-oom
local waiter, given = ARGV[1], ARGV[2]
local version, ticket = cache_version(KEYS[1]), redis.call('GET', KEYS[2])
local ends_at = ticket and redis.call('PEXPIRETIME', KEYS[2])
local waiters = waiters_read(KEYS[1], KEYS[3], now, waiter)
local is_taken_back = ticket and ticket == given
waiters_settle(waiters)
if waiter ~= '' then
  waiters_leave(waiters)
end
if is_taken_back then
  redis.call('UNLINK', KEYS[2])
end
if not version then
  cache_serve(waiters, not is_taken_back and ends_at or nil)
end
return { is_taken_back and 1 or 0, now }
