-- ratelimit_compensate: undoes what ratelimit_take_all took a moment ago, because limits in other
-- slots refused.
-- KEYS  1.. the states (rate_limits/lib_limit_*.lua), one per check, no two the same
-- ARGV  1 taken_at_ms, as replied then; six per check: algorithm (1 gcra, 2 sliding window, 3 fixed
--       window), limit, window_ms, cost, burst of a leaky bucket, and in how many ms the limit
--       would have been whole again, as replied then
--@reply 1: decisions (limit_decision)...
-- decisions has each check afterwards. No call passes earlier than if the cost had never been
-- taken: a leaky bucket gets back only what cannot have drained since, a window only what it still
-- counts.
-- Errors: WRONGTYPE, nothing done. O(checks), times O(log n) for a sliding window.
--@flags allow-oom
local taken_at = tonumber(ARGV[1])
local FIELDS = 6
local checks = {}
for i = 1, #KEYS do
  local at = 1 + FIELDS * (i - 1)
  local c = { limit = tonumber(ARGV[at + 2]), window = tonumber(ARGV[at + 3]), cost = tonumber(ARGV[at + 4]) }
  c.algorithm, c.whole_at = tonumber(ARGV[at + 1]), taken_at + tonumber(ARGV[at + 6])
  c.burst = c.algorithm == 1 and tonumber(ARGV[at + 5]) or nil
  c.found = { limit_decide(c.algorithm, KEYS[i], now, nil, nil, 0) }
  checks[i] = c
end
local reply = { 1, now }
for i, c in ipairs(checks) do
  local same = c.found[7] == c.limit and c.found[8] == c.window
  local taken = c.algorithm == 1 and taken_at or c.whole_at - c.window -- exact for a window
  limit_refund(KEYS[i], c.algorithm, c.cost, taken, same and c.whole_at or 0, c.found)
  local _, capacity, remaining, retry_at, reset_at, more_at = limit_decide(c.algorithm, KEYS[i], now, c.limit,
    c.window, 0, c.burst)
  for _, value in ipairs({ capacity, remaining, retry_at, reset_at, more_at, c.limit, c.window }) do
    reply[#reply + 1] = value
  end
end
return reply
