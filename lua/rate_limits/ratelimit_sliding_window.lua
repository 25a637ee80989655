-- ratelimit_sliding_window: counts `cost` in the last window_ms, or returns when it fits.
-- KEYS  1 log (rate_limits/lib_limit_sliding_window.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)  4 '1': a refused call counts as well
--@reply 1 allowed, 2 counted_refusal, 0 refused: limit_taken
-- A counted refusal changed something, so its idempotency record is kept. O(log n).
--@idempotent window
local limit, window, cost, count_refused = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] == '1'
local allowed, capacity, remaining, retry_at, reset_at, more_at, _, _, at,
  counts, total, expired, settings, floor, base =
  sliding_window_decide(KEYS[1], now, limit, window, cost, count_refused)
if counts then
  sliding_window_commit(KEYS[1], allowed, limit, window, at, total, expired, settings, floor, base)
end
local outcome = allowed == 0 and counts and 2 or allowed
return { outcome, now, capacity, remaining, retry_at, reset_at, more_at, limit, window }, nil, window
