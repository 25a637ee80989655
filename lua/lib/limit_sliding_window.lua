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
  local reach = 1 -- mostly it is among the oldest: in strides that double from there
  while low + reach - 1 < high and at(low + reach - 1) < need do
    low, reach = low + reach, reach * 2
  end
  high = math.min(high, low + reach - 1)
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
  local l, w = string.match(settings or '0 0', '^(%d+) (%d+)$')
  if not l or not total then
    error(redis.error_reply('WRONGTYPE the key holds a sorted set that is not a sliding window'))
  end
  if not limit then
    if not settings then return nil end
    limit, window = l + 0, w + 0
  end
  now = math.max(now, latest)
  local cutoff = digits(now - window)
  local expired = settings and redis.call('ZCOUNT', key, '-inf', cutoff) or 0
  local base = 0
  if expired > 0 then
    base = tonumber(redis.call('ZRANGE', key, expired - 1, expired - 1)[1])
  end
  local entries = settings and redis.call('ZCARD', key) - 1 or 0
  local used, before = total - base, total
  -- When enough has left that the running totals up to `need` no longer count.
  local function gone_at(need)
    local time = need > before and now or sliding_window_find(key, expired, entries - 1, need)
    return time + window
  end
  local allowed, retry_at = 1, -1
  if used + cost > limit then
    allowed = 0
  end
  local counts = cost > 0 and (allowed == 1 or count_refused)
  if counts then
    total, used, latest = total + cost, used + cost, now
  end
  if allowed == 0 then
    retry_at = gone_at(total + cost - limit)
  end
  local reset_at = used > 0 and latest + window or now
  local more_at = used > 0 and gone_at(math.max(base, total - limit) + 1) or 0
  return allowed, limit, math.max(0, limit - used), retry_at, reset_at, more_at, limit, window, counts, now, total, expired, settings
end
local function sliding_window_commit(key, limit, window, allowed, now, total, expired, old_settings)
  local settings = string.format('%d %d', limit, window)
  if old_settings ~= settings then
    if old_settings then redis.call('ZREM', key, old_settings) end
    redis.call('ZADD', key, '+inf', settings)
  end
  redis.call('ZADD', key, digits(now), string.format('%016.0f', total))
  if expired > 1 then
    redis.call('ZREMRANGEBYRANK', key, 0, math.min(expired - 1, 1000) - 1)
  end
  -- Counted refusals pile up beyond the limit: entries that leave the window before anything fits again do not matter.
  for _ = 1, allowed == 1 and 0 or 10 do
    local second = redis.call('ZRANGE', key, 1, 1)[1]
    if tonumber(second) > total - limit then
      break
    end
    redis.call('ZREMRANGEBYRANK', key, '0', '0')
  end
  redis.call('PEXPIRE', key, digits(window))
end
