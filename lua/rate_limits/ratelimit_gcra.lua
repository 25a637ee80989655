-- ratelimit_gcra: adds `cost` drops to a leaky bucket, or returns when they fit.
-- KEYS  1 state (rate_limits/lib_limit_gcra.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)  4 burst
--@reply 1 allowed, 0 refused: limit_taken
-- A refusal writes nothing. O(1).
--@idempotent window
local cost = ARGV[3] + 0
local allowed, capacity, remaining, retry_at, reset_at, more_at, limit, window, at, level, burst =
  gcra_decide(KEYS[1], now, ARGV[1] + 0, ARGV[2] + 0, cost, ARGV[4] + 0)
if allowed == 1 and cost > 0 then
  gcra_commit(KEYS[1], reset_at, limit, window, at, level, burst)
end
return { allowed, now, capacity, remaining, retry_at, reset_at, more_at, limit, window }, nil, window
