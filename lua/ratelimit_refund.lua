-- ratelimit_refund: gives cost back, at most what is counted now.
-- KEYS  1 state (lib/limit_*.lua)
-- ARGV  1 algorithm (1 funnel, 2 sliding window, 3 fixed window)  2 cost, at least 1  3 age_ms: it was taken so long ago, or longer
-- Returns {refunded, now_ms, algorithm | 0 no state, limit, window_ms, capacity, remaining, retry_at_ms | -1, reset_at_ms}: afterwards, as a
-- call of cost 1 would find it. Errors: WRONGTYPE, nothing done. O(log n); a sliding window loses 1000 entries at most.
--@include time limit_funnel limit_sliding_window limit_fixed_window limit_refund
--@idempotent
local now = now_ms()
local key, cost, age = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local decide = ({ funnel_decide, sliding_window_decide, fixed_window_decide })[tonumber(ARGV[1])]
-- Whole drops; what drained while they were in it cannot come back.
local function funnel_refund(limit, window, level, burst)
  local drops = math.min(cost, math.ceil(level / window))
  if drops > 0 then
    level = math.max(0, level - drops * window)
    if level > 0 then
      funnel_commit(key, now, limit, window, level, burst)
    else
      redis.call('DEL', key)
    end
  end
  return drops
end
local d = { decide(key, now, nil, nil, 0) }
if not d[1] then
  return { 0, now, 0, 0, 0, 0, 0, -1, now }
end
local refunded
if decide == funnel_decide then
  refunded = funnel_refund(d[7], d[8], d[9], d[10])
elseif decide == sliding_window_decide then
  refunded = sliding_window_refund(key, d[10] - age, cost, d[8], d[10], d[11], d[12])
else
  refunded = fixed_window_refund(key, now, now - age, cost, d[7], d[8], d[9], d[10])
end
local burst = decide == funnel_decide and d[10] or nil
local _, capacity, remaining, _, reset_at, more_at, limit, window = decide(key, now, d[7], d[8], 0, burst)
return { refunded, now, tonumber(ARGV[1]), limit, window, capacity, remaining, remaining > 0 and -1 or more_at, reset_at }
