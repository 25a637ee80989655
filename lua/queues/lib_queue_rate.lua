-- A rate as a leaky bucket, which is GCRA: `burst` messages at once, and `limit` more in each
-- window_ms (rate_limits/lib_limit_gcra.lua counts the same in drops). What is stored is the
-- theoretical arrival time: the instant, in us, at which the bucket is empty, rounded up to a
-- quarter, so that no rounding admits a message. Wants queues/lib_queue.lua.
local now_us = clock[1] * 1000000 + clock[2]

-- How many may be taken now.
local function rate_room(rate, empty_at)
  local step = rate.window_ms * 1000 / rate.limit
  return math.floor(rate.burst - math.max(tonumber(empty_at or 0) - now_us, 0) / step)
end

-- When the next may be taken, in us.
local function rate_opens_at(rate, empty_at)
  return tonumber(empty_at or 0) - (rate.burst - 1) * (rate.window_ms * 1000 / rate.limit)
end

-- What is stored once `count` were taken.
local function rate_spent(rate, empty_at, count)
  local step = rate.window_ms * 1000 / rate.limit
  return string.format('%.2f', math.ceil((math.max(tonumber(empty_at or 0), now_us) + count * step) * 4) / 4)
end
