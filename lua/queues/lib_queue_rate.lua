-- A rate as a leaky bucket, which is GCRA: `burst` messages at once, and `limit` more in each
-- window_ms (rate_limits/lib_limit_gcra.lua counts the same in drops). The stored value is the
-- theoretical arrival time: the instant, in us, at which the bucket is empty, rounded up to a
-- quarter, so that no rounding admits a message.

-- rate_filled(rate, empty_at): the time, in us, that one message takes to drain, and the instant at
-- which the bucket is empty, now or later. A slower rate may have stored more than a full bucket;
-- it counts as full.
local function rate_filled(rate, empty_at)
  local step = rate.window_ms * 1000 / rate.limit
  return step, math.min(math.max(tonumber(empty_at or 0), now_us), now_us + math.ceil(rate.burst * step))
end

-- rate_mended(rate, empty_at): the value to store for a bucket that is more than full, so that it
-- drains from now on; else nil.
local function rate_mended(rate, empty_at)
  local _, empty = rate_filled(rate, empty_at)
  return tonumber(empty_at or 0) > empty and format('%d', empty) or nil
end

-- rate_room(rate, empty_at): how many messages may be taken now.
local function rate_room(rate, empty_at)
  local step, empty = rate_filled(rate, empty_at)
  return math.floor(rate.burst - (empty - now_us) / step)
end

-- rate_opens_at(rate, empty_at): when the next message may be taken, in us.
local function rate_opens_at(rate, empty_at)
  local step, empty = rate_filled(rate, empty_at)
  return empty - (rate.burst - 1) * step
end

-- rate_spent(rate, empty_at, count): the value to store once `count` messages were taken.
local function rate_spent(rate, empty_at, count)
  local step, empty = rate_filled(rate, empty_at)
  return format('%.2f', math.ceil((empty + count * step) * 4) / 4)
end
