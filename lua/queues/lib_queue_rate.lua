-- A rate as a leaky bucket, which is GCRA: `burst` messages at once, and `limit` more in each
-- window_ms (rate_limits/lib_limit_gcra.lua counts the same in drops). What is stored is the
-- theoretical arrival time: the instant, in us, at which the bucket is empty, rounded up to a
-- quarter, so that no rounding admits a message. Wants queues/lib_queue.lua.
local now_us = clock[1] * 1000000 + clock[2]

-- The time, in us, that one message takes to drain, and the instant at which the bucket is empty,
-- now or later. No bucket is fuller than full: what a slower rate before has stored may be.
local function rate_filled(rate, empty_at)
  local step = rate.window_ms * 1000 / rate.limit
  return step, math.min(math.max(tonumber(empty_at or 0), now_us), now_us + math.ceil(rate.burst * step))
end

-- What is to be stored of a bucket that is fuller than full, so that it drains from now on; else
-- nil.
local function rate_mended(rate, empty_at)
  local _, empty = rate_filled(rate, empty_at)
  return tonumber(empty_at or 0) > empty and digits(empty) or nil
end

-- How many may be taken now.
local function rate_room(rate, empty_at)
  local step, empty = rate_filled(rate, empty_at)
  return math.floor(rate.burst - (empty - now_us) / step)
end

-- When the next may be taken, in us.
local function rate_opens_at(rate, empty_at)
  local step, empty = rate_filled(rate, empty_at)
  return empty - (rate.burst - 1) * step
end

-- What is stored once `count` were taken.
local function rate_spent(rate, empty_at, count)
  local step, empty = rate_filled(rate, empty_at)
  return string.format('%.2f', math.ceil((empty + count * step) * 4) / 4)
end
