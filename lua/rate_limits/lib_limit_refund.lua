-- What is refunded, of any limit: as much as is still counted, so that no call passes earlier
-- than if the cost had never been taken. Wants the limits' own files.

-- What drained since cannot come back: all that drains in `age` ms, but for a leaky bucket that
-- `lasts` so many ms more with nothing but the cost and what was in it before.
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
-- Nothing when the window of now began after it was taken.
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
-- The oldest go: no call passes earlier than if the right ones had gone. At most 1000 entries are
-- removed; others leave with the window.
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
-- limit_refund(key, algorithm, cost, taken_at, whole_at, found): how much. `found` is what decide
-- returned without parameters, nil where there is nothing; whole_at is when a leaky bucket would
-- have been empty, as of when the cost was taken; 0 where that is not known.
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
