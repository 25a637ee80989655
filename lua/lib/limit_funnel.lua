-- The funnel: a leaky bucket as meter, which is GCRA counted in drops (ITU-T I.371; redis-cell's CL.THROTTLE).
--
-- State, a string: "<level> <at_ms> <limit> <window_ms> <burst>". A drop weighs window_ms units, the funnel holds burst drops and drains
-- limit units a millisecond: all whole numbers below 2^53, so nothing is ever rounded away. It expires when it is empty.
--
-- decide(key, now, limit, window, cost, burst) -> decision; with limit nil the parameters are the stored ones (nil: no state).
-- A decision has allowed, limit, window, capacity, remaining, retry_at (-1 when allowed), reset_at, more_at (0 when full), all as they
-- are once it is committed. commit(key, now, decision) writes it.
local function funnel_decide(key, now, limit, window, cost, burst)
  local level = 0
  local stored = redis.call('GET', key)
  if stored then
    local l, at, old_limit, old_window, old_burst = stored:match('^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    level, at, old_window = tonumber(l), tonumber(at), tonumber(old_window)
    if not limit then
      limit, window, burst = tonumber(old_limit), old_window, tonumber(old_burst)
    end
    if old_window ~= window then
      level = math.ceil(level / old_window * window)
    end
    if now > at then
      level = math.max(0, level - (now - at) * limit)
    end
  elseif not limit then
    return nil
  end
  local room, weight = burst * window, cost * window
  local d = { limit = limit, window = window, burst = burst, capacity = burst, retry_at = -1 }
  d.allowed = level + weight <= room
  if d.allowed then
    level = level + weight
  else
    d.retry_at = now + math.ceil((level + weight - room) / limit)
  end
  d.level = level
  d.remaining = math.max(0, math.floor((room - level) / window))
  d.reset_at = now + math.ceil(level / limit)
  d.more_at = level > 0 and now + math.ceil((level - room + (d.remaining + 1) * window) / limit) or 0
  return d
end
local function funnel_commit(key, now, d)
  if d.level > 0 then
    redis.call('SET', key, string.format('%.0f %.0f %.0f %.0f %.0f', d.level, now, d.limit, d.window, d.burst),
      'PX', digits(d.reset_at - now + 1))
  end
end
