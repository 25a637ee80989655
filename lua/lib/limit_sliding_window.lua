-- The sliding window: a log of what was counted in the last window_ms, exact at every instant.
--
-- State, a sorted set: an entry for each counted call, score its time in ms, member the running total of all costs up to and with it, as 16
-- digits (so members order like scores, and what was used between two instants is a difference of two members). One more member,
-- "<limit> <window_ms>" at +inf, carries the parameters. Expired entries go except the last, which says where the window starts. It expires
-- when the window is empty. O(log n) a call.
--
-- decide and commit as for the funnel; count_refused makes a refused call count all the same.
local function sliding_window_find(key, low, high, need)
  -- The time of the first entry in ranks low..high whose running total is at least `need`.
  local function at(rank)
    local e = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
    return tonumber(e[1]), tonumber(e[2])
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    local total = at(middle)
    if total >= need then high = middle else low = middle + 1 end
  end
  local _, time = at(low)
  return time
end
local function sliding_window_decide(key, now, limit, window, cost, count_refused)
  local tail = redis.call('ZREVRANGE', key, 0, 1, 'WITHSCORES')
  local settings, total, latest = tail[1], tonumber(tail[3] or '0'), tonumber(tail[4] or '0')
  if not limit then
    if not settings then return nil end
    local l, w = settings:match('^(%d+) (%d+)$')
    limit, window = tonumber(l), tonumber(w)
  end
  now = math.max(now, latest)
  local cutoff = digits(now - window)
  local expired = settings and redis.call('ZCOUNT', key, '-inf', cutoff) or 0
  local base = 0
  if expired > 0 then
    base = tonumber(redis.call('ZRANGE', key, expired - 1, expired - 1)[1])
  end
  local entries = settings and redis.call('ZCARD', key) - 1 or 0
  local used = total - base
  local d = { limit = limit, window = window, capacity = limit, retry_at = -1, now = now, settings = settings,
    total = total, expired = expired }
  d.allowed = used + cost <= limit
  d.counts = cost > 0 and (d.allowed or count_refused)
  if d.counts then
    d.total = total + cost
    used = used + cost
    latest = now
  end
  -- When enough has left that the running totals up to `need` no longer count.
  local function gone_at(need)
    local time = need > total and now or sliding_window_find(key, expired, entries - 1, need)
    return time + window
  end
  if not d.allowed then
    d.retry_at = gone_at(d.total + cost - limit)
  end
  d.remaining = math.max(0, limit - used)
  d.reset_at = used > 0 and latest + window or now
  d.more_at = used > 0 and gone_at(math.max(base, d.total - limit) + 1) or 0
  return d
end
local function sliding_window_commit(key, _, d)
  if not d.counts then
    return
  end
  local settings = string.format('%.0f %.0f', d.limit, d.window)
  if d.settings ~= settings then
    if d.settings then redis.call('ZREM', key, d.settings) end
    redis.call('ZADD', key, '+inf', settings)
  end
  redis.call('ZADD', key, digits(d.now), string.format('%016.0f', d.total))
  if d.expired > 1 then
    redis.call('ZREMRANGEBYRANK', key, 0, math.min(d.expired - 1, 1000) - 1)
  end
  -- Counted refusals pile up beyond the limit: entries that leave the window before anything fits again do not matter.
  for _ = 1, 10 do
    local second = redis.call('ZRANGE', key, 1, 1)[1]
    if d.allowed or tonumber(second) > d.total - d.limit then
      break
    end
    redis.call('ZREMRANGEBYRANK', key, 0, 0)
  end
  redis.call('PEXPIRE', key, digits(d.window))
end
