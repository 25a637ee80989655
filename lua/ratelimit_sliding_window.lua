-- ratelimit_sliding_window: counts `cost` in the last window_ms, or says when it fits.
-- KEYS  1 log (lib/limit_sliding_window.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)  4 '1': a refused call counts too
-- Returns {1 allowed | 0 refused, now_ms, capacity, remaining, retry_at_ms | -1, reset_at_ms, more_at_ms | 0}. O(log n).
--@include time limit_sliding_window
--@idempotent
local now = now_ms()
local d = sliding_window_decide(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1')
sliding_window_commit(KEYS[1], now, d)
return { d.allowed and 1 or 0, now, d.capacity, d.remaining, d.retry_at, d.reset_at, d.more_at }
