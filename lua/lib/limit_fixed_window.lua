-- The fixed window: a counter that starts with the first counted call and ends window_ms later.
--
-- State, a string: "<used> <started_at_ms> <limit> <window_ms>". It expires with its window.
--
-- decide and commit as for the funnel.
local function fixed_window_decide(key, now, limit, window, cost)
  local used, started = 0, now
  local stored = redis.call('GET', key)
  if stored then
    local u, s, l, w = stored:match('^(%d+) (%d+) (%d+) (%d+)$')
    if not limit then
      limit, window = tonumber(l), tonumber(w)
    end
    if tonumber(s) + window > now then
      used, started = tonumber(u), tonumber(s)
    end
  elseif not limit then
    return nil
  end
  local finish = started + window
  local d = { limit = limit, window = window, capacity = limit, started = started, retry_at = -1, cost = cost }
  d.allowed = used + cost <= limit
  if d.allowed then
    used = used + cost
  else
    d.retry_at = finish
  end
  d.used = used
  d.remaining = math.max(0, limit - used)
  d.reset_at = used > 0 and finish or now
  d.more_at = used > 0 and finish or 0
  return d
end
local function fixed_window_commit(key, now, d)
  if d.allowed and d.cost > 0 then
    redis.call('SET', key, string.format('%.0f %.0f %.0f %.0f', d.used, d.started, d.limit, d.window),
      'PX', digits(d.started + d.window - now))
  end
end
