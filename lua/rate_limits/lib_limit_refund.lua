-- Refunds to any limit: at most what is still counted, so that no call passes earlier than if the
-- cost had never been taken.

-- gcra_refund(key, cost, age, lasts, found): refunds at most the part of the cost that has not
-- drained. In `age` ms at most age * drain has drained. The earlier content of the leaky bucket
-- drained first: `lasts` is how much longer a bucket with only that content and the cost would
-- last. So at least lasts * drain of the cost is still there.
local function gcra_refund(key, cost, age, lasts, found)
  local limit, window, at, level, burst = found[7], found[8], found[9], found[10], found[11]
  local drain, drop = gcra_units(limit, window)
  local weight = math.min(cost * drop, 2 ^ 52)
  local back = math.min(level, weight, math.max(0, weight - age * drain, lasts * drain))
  if back > 0 and back == level then
    redis.call('DEL', key)
  elseif back > 0 then
    level = level - back
    gcra_commit(key, at + math.ceil(level / drain), limit, window, at, level, burst)
  end
  return math.ceil(back / drop)
end
-- fixed_window_refund(key, cost, taken_at, found): refunds nothing if the present window began
-- after taken_at.
local function fixed_window_refund(key, cost, taken_at, found)
  local limit, window, used, started = found[7], found[8], found[10], found[11]
  local refunded = started <= taken_at and math.min(cost, used) or 0
  if refunded > 0 and refunded == used then
    redis.call('DEL', key)
  elseif refunded > 0 then
    fixed_window_commit(key, limit, window, used - refunded, started)
  end
  return refunded
end
-- sliding_window_refund(key, cost, taken_at, found): removes the oldest entries, so no call passes
-- earlier than if the entries of the cost were removed. It removes at most 1000 entries; the others
-- leave with the window.
local function sliding_window_refund(key, cost, taken_at, found)
  local limit, window, at, total, settings, base = found[7], found[8], found[9], found[11], found[13], found[15]
  if at - taken_at >= window or total == base then
    return 0
  end
  local start = math.min(base + cost, total)
  if start == total then
    redis.call('UNLINK', key)
    return start - base
  end
  local dead = sliding_window_find(key, 0, math.min(redis.call('ZCARD', key) - 2, 1000), start + 1)
  if dead > 0 then
    redis.call('ZREMRANGEBYRANK', key, 0, dead - 1)
  end
  sliding_window_set(key, settings, limit, window, start)
  return start - base
end
-- limit_refund(key, algorithm, cost, taken_at, whole_at, found): refunds the cost, and returns how
-- much of it. `found` has what decide returned without parameters, nothing when nothing is stored.
-- whole_at is when a leaky bucket would have been empty, as of when the cost was taken; 0 if that
-- is not known.
local function limit_refund(key, algorithm, cost, taken_at, whole_at, found)
  if not found[1] then
    return 0
  elseif algorithm == 1 then
    return gcra_refund(key, cost, math.max(0, found[9] - taken_at), whole_at - 1 - found[9], found)
  elseif algorithm == 2 then
    return sliding_window_refund(key, cost, taken_at, found)
  end
  return fixed_window_refund(key, cost, taken_at, found)
end
