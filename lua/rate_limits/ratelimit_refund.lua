-- ratelimit_refund: refunds a cost, at most what is counted now.
-- KEYS  1 state (rate_limits/lib_limit_*.lua)
-- ARGV  1 algorithm (1 gcra, 2 sliding window, 3 fixed window)
--       2 cost, at least 1  3 age_ms: the cost was taken at least that long ago
--@reply 0..: limit_state
-- The outcome is how much was refunded; the state is as it is afterwards. What drains from a leaky
-- bucket in age_ms is not refunded; a drop that is refunded in part counts as one.
-- Errors: WRONGTYPE, nothing done. O(log n).
--@idempotent
local algorithm, cost, age_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local d = { limit_decide(algorithm, KEYS[1], now, nil, nil, 0) }
if not d[1] then
  return { 0, now, 0, 0, 0, 0, 0, -1, now }
end
local refunded = limit_refund(KEYS[1], algorithm, cost, d[9] - age_ms, 0, d)
local _, capacity, remaining, _, reset_at, more_at, limit, window =
  limit_decide(algorithm, KEYS[1], now, d[7], d[8], 0, algorithm == 1 and d[11])
return { refunded, now, algorithm, limit, window, capacity, remaining, remaining > 0 and -1 or more_at, reset_at }
