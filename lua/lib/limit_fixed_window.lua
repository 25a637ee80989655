-- The fixed window: a counter that starts with the first counted call and ends window_ms later.
--
-- State, a string: "<used> <started_at_ms> <limit> <window_ms>". It expires with its window.
--
-- decide and commit as for the funnel.
local function fixed_window_decide(key, now, limit, window, cost)
  local used, started = 0, now
  local stored = redis.call('GET', key)
  if stored then
    local u, s, l, w = string.match(stored, '^(%d+) (%d+) (%d+) (%d+)$')
    if not u then
      error(redis.error_reply('WRONGTYPE the key holds text that is not a fixed window'))
    end
    if not limit then
      limit, window = l + 0, w + 0
    end
    if s + window > now then
      used, started = u + 0, s + 0
    end
  elseif not limit then
    return nil
  end
  local finish = started + window
  local allowed, retry_at = 1, -1
  if used + cost <= limit then
    used = used + cost
  else
    allowed, retry_at = 0, finish
  end
  local reset_at, more_at = now, 0
  if used > 0 then
    reset_at, more_at = finish, finish
  end
  return allowed, limit, math.max(0, limit - used), retry_at, reset_at, more_at, limit, window, used, started
end
local function fixed_window_commit(key, now, limit, window, used, started)
  redis.call('SET', key, string.format('%d %d %d %d', used, started, limit, window), 'PX',
    string.format('%d', started + window - now))
end
