-- The funnel: a leaky bucket as meter, which is GCRA counted in drops (ITU-T I.371; redis-cell's CL.THROTTLE).
--
-- State, a string: "<level> <at_ms> <window_ms> <limit> <burst>". A drop weighs window_ms units, the funnel holds burst drops and drains
-- limit units a millisecond: all whole numbers below 2^53, so nothing is ever rounded away. It expires when it is empty.
--
-- funnel_decide(key, now, limit, window, cost, burst): allowed (1 or 0), capacity, remaining, retry_at (-1 when allowed), reset_at, more_at (0
-- when full), all as they are once it is committed; limit, window; then what funnel_commit wants. With limit nil the parameters are the
-- stored ones; nil when there are none. (Plain values and no table: this is the hottest path of all.)
local function funnel_decide(key, now, limit, window, cost, burst)
  local level = 0
  local stored = redis.call('GET', key)
  if stored then
    local l, at, old_window, old_limit, old_burst = string.match(stored, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    if not l then
      error(redis.error_reply('WRONGTYPE the key holds text that is not a funnel'))
    end
    old_window = old_window + 0
    if not limit then
      limit, window, burst = old_limit + 0, old_window, old_burst + 0
    end
    level = old_window == window and l + 0 or math.ceil(l / old_window * window)
    local elapsed = now - at
    if elapsed > 0 then
      level = math.max(0, level - elapsed * limit)
    end
  elseif not limit then
    return nil
  end
  local room, weight = burst * window, cost * window
  local allowed, retry_at = 1, -1
  if level + weight <= room then
    level = level + weight
  else
    allowed, retry_at = 0, now + math.ceil((level + weight - room) / limit)
  end
  local remaining, more_at = burst, 0
  if level > 0 then
    remaining = math.max(0, math.floor((room - level) / window))
    more_at = now + math.ceil((level - room + (remaining + 1) * window) / limit)
  end
  return allowed, burst, remaining, retry_at, now + math.ceil(level / limit), more_at, limit, window, level, burst
end
local function funnel_commit(key, now, limit, window, level, burst)
  redis.call('SET', key, string.format('%d %d %d %d %d', level, now, window, limit, burst),
    'PX', string.format('%d', math.ceil(level / limit) + 1))
end
