-- semaphore_leave: a permit goes back, or who waited for one is there no more.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3, 4 its waiters and their offer (lib/waiters.lua)
-- ARGV  1 ticket, '' for none; 2 hash of the permit, '' for none
-- Returns {1, now} the permit was good; {-1, now} it was not (any more).
-- Errors: WRONGTYPE, nothing done. O(log permits), O(waiters) when a daemon with waiters has died.
--@include time wake waiters semaphore
--@flags allow-oom
local now = now_ms()
local s = semaphore_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], KEYS[4], now, ARGV[1])
local held = ARGV[2] ~= '' and semaphore_holds(s, ARGV[2])
waiters_settle(waiters)
semaphore_settle(s)
if ARGV[1] ~= '' then
  waiters_leave(waiters, ARGV[1])
end
if held then
  semaphore_drop(s, ARGV[2])
end
semaphore_offer(s, waiters)
return { held and 1 or -1, now }
