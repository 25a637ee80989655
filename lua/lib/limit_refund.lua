-- What is given back to a window: as much as is still counted. Wants lib/time.lua and the limits' own files.

-- fixed_window_refund(key, now, taken_at, cost, limit, window, used, started): how much. Nothing when the window of now began after it
-- was taken.
local function fixed_window_refund(key, now, taken_at, cost, limit, window, used, started)
  local refunded = started <= taken_at and math.min(cost, used) or 0
  if refunded == used then
    redis.call('DEL', key)
  elseif refunded > 0 then
    fixed_window_commit(key, now, limit, window, used - refunded, started)
  end
  return refunded
end

-- sliding_window_refund(key, taken_at, cost, window, at, total, expired): how much; the last four as sliding_window_decide tells them.
-- The oldest entries go, 1000 at most: nobody is let in earlier than if the right ones had gone. An entry that stands for all that left
-- the window, just before it, says from where totals count.
local function sliding_window_refund(key, taken_at, cost, window, at, total, expired)
  local function total_of(rank)
    return tonumber(redis.call('ZRANGE', key, rank, rank)[1])
  end
  local base = expired > 0 and total_of(expired - 1) or 0
  local last = redis.call('ZCARD', key) - 2
  if at - taken_at >= window or total == base then
    return 0
  end
  last = math.min(last, expired + 999)
  local start = math.min(base + cost, total_of(last))
  if start == total then
    redis.call('DEL', key)
    return start - base
  end
  local low, high = expired, last -- to the first entry that reaches beyond what is given back, or just to its end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if total_of(middle) >= start then high = middle else low = middle + 1 end
  end
  if low > expired then
    redis.call('ZREMRANGEBYRANK', key, expired, low - 1)
  end
  redis.call('ZADD', key, digits(at - window), string.format('%016.0f', start))
  return start - base
end
