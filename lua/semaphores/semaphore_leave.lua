-- semaphore_leave: a permit goes back, or who waited for one is there no more.
-- KEYS  1 semaphore: hash, TTL; 2 its permits: sorted set, TTL; 3, 4 its line and its offer (lib/line.lua)
-- ARGV  1 ticket, '' for none; 2 hash of the permit, '' for none
-- Returns {1, now} the permit was good; {-1, now} it was not (any more).
-- Errors: WRONGTYPE, nothing done. O(log permits), O(line) when a daemon with waiters has died.
--@include time wake line semaphore
--@flags allow-oom
local now = now_ms()
local s = semaphore_read(KEYS[1], KEYS[2], now)
local line = line_read(KEYS[1], KEYS[3], KEYS[4], now, ARGV[1])
local held = ARGV[2] ~= '' and semaphore_holds(s, ARGV[2])
line_settle(line)
semaphore_settle(s)
if ARGV[1] ~= '' then
  line_leave(line, ARGV[1])
end
if held then
  semaphore_drop(s, ARGV[2])
end
semaphore_offer(s, line)
return { held and 1 or -1, now }
