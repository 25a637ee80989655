-- ratelimit_funnel: takes `cost` drops from a funnel, or says when they fit.
-- KEYS  1 state (lib/limit_funnel.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)  4 burst
-- Returns {1 allowed | 0 refused, now_ms, capacity, remaining, retry_at_ms | -1, reset_at_ms, more_at_ms | 0}. A refusal writes nothing. O(1).
--@include time limit_funnel
--@idempotent
local now = now_ms()
local cost = tonumber(ARGV[3])
local d = funnel_decide(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), cost, tonumber(ARGV[4]))
if d.allowed and cost > 0 then
  funnel_commit(KEYS[1], now, d)
end
return { d.allowed and 1 or 0, now, d.capacity, d.remaining, d.retry_at, d.reset_at, d.more_at }
