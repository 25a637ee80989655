-- ratelimit_fixed_window: counts `cost` in the window that the first counted call opened, or
-- returns when it ends.
-- KEYS  1 counter (rate_limits/lib_limit_fixed_window.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)
--@reply 1 allowed, 0 refused: limit_taken
-- O(1).
--@idempotent window
local limit, window, cost = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
local allowed, capacity, remaining, retry_at, reset_at, more_at, _, _, _, used, started =
  fixed_window_decide(KEYS[1], now, limit, window, cost)
if allowed == 1 and cost > 0 then
  fixed_window_commit(KEYS[1], limit, window, used, started)
end
return { allowed, now, capacity, remaining, retry_at, reset_at, more_at, limit, window }, nil, reset_at - now
