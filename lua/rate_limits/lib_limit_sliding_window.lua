-- The sliding window: a log of what was counted in the last window_ms, exact at every instant. This
-- module needs lib/head.lua, and must not know policies: scripts pass the parameters.
--
-- State, a sorted set with an entry for each counted call: its score is its time in ms, its member
-- the running total of all costs up to and with it, as 16 digits. So members order like scores, and
-- what was used between two instants is a difference of two members. One more member, "<limit>
-- <window_ms> <floor>" at +inf, has the parameters; totals up to the floor do not count any more.
-- Expired entries are removed except the last, which is where the window starts. What had left the
-- window when the log was last written does not return when the window becomes longer. The log
-- expires when the window is empty. After Redis's clock was set back, now is the time of the latest
-- entry. O(log n) per call.
--
-- sliding_window_decide and sliding_window_commit: as for gcra; with count_refused a refused call
-- counts as well.

-- sliding_window_find(key, low, high, need): the first of the ranks low..high whose running total
-- is at least `need`; high without one.
local function sliding_window_find(key, low, high, need)
  local function total_of(rank)
    return tonumber(redis.call('ZRANGE', key, rank, rank)[1])
  end
  local reach = 1 -- it is mostly among the oldest: strides double from there
  while low + reach - 1 < high and total_of(low + reach - 1) < need do
    low, reach = low + reach, reach * 2
  end
  high = math.min(high, low + reach - 1)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if total_of(middle) >= need then high = middle else low = middle + 1 end
  end
  return low
end
local function sliding_window_decide(key, now, limit, window, cost, count_refused)
  local tail = redis.call('ZREVRANGE', key, 0, 1, 'WITHSCORES')
  local settings, total, latest = tail[1], tonumber(tail[3] or '0'), tonumber(tail[4] or '0')
  local l, w, floor = string.match(settings or '0 0 0', '^(%d+) (%d+) (%d+)$')
  if not l or not total then
    error(redis.error_reply('WRONGTYPE the key holds a sorted set that is not a sliding window'))
  end
  l, w, floor = l + 0, w + 0, floor + 0
  if not limit then
    if not settings then return nil end
    limit, window = l, w
  end
  now = math.max(now, latest)
  local cutoff = format('%d', math.max(now - window, now < latest + w and latest - w or latest))
  local expired = settings and redis.call('ZCOUNT', key, '-inf', cutoff) or 0
  local base = floor
  if expired > 0 then
    base = math.max(floor, tonumber(redis.call('ZRANGE', key, expired - 1, expired - 1)[1]))
  end
  local entries = settings and redis.call('ZCARD', key) - 1 or 0
  local used, before = total - base, total
  -- gone_at(need): when so much has left the window that the running totals up to `need` do not
  -- count.
  local function gone_at(need)
    if need > before then
      return now + window
    end
    local rank = sliding_window_find(key, expired, entries - 1, need)
    return redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')[2] + window
  end
  local allowed, retry_at = 1, -1
  if used + cost > limit then
    allowed = 0
  end
  local counts = cost > 0 and (allowed == 1 or count_refused)
  local lapses_at = latest + w
  if counts then
    total, used, latest = total + cost, used + cost, now
  end
  if allowed == 0 then
    retry_at = gone_at(total + cost - limit)
  end
  local reset_at = used > 0 and latest + window or now
  local more_at = used > 0 and gone_at(math.max(base, total - limit) + 1) or 0
  if window > w and used > 0 and not counts then -- nothing is written, so it expires as before
    retry_at = math.min(retry_at, lapses_at)
    reset_at = math.min(reset_at, lapses_at)
    more_at = math.min(more_at, lapses_at)
  end
  if limit ~= l or window ~= w then
    floor = base
  end
  return allowed, limit, math.max(0, limit - used), retry_at, reset_at, more_at, limit, window, now,
    counts, total, expired, settings, floor, base
end
-- sliding_window_set: writes the member of the parameters if it differs.
local function sliding_window_set(key, old_settings, limit, window, floor)
  local settings = format('%d %d %d', limit, window, floor)
  if old_settings ~= settings then
    if old_settings then redis.call('ZREM', key, old_settings) end
    redis.call('ZADD', key, '+inf', settings)
  end
end
local function sliding_window_commit(key, allowed, limit, window, now, total, expired, settings, floor, base)
  if total > 2 ^ 52 then -- once in 4.5 * 10^15: the entry of this call then has all that is counted
    redis.call('UNLINK', key)
    total, expired, settings, floor, base = total - base, 0, nil, 0, 0
  end
  redis.call('ZADD', key, format('%d', now), format('%016.0f', total))
  if expired > 1 then
    redis.call('ZREMRANGEBYRANK', key, 0, math.min(expired - 1, 1000) - 1)
  end
  -- Counted refusals accumulate beyond the limit. If nothing fits even when the second entry has
  -- left, the oldest one is removed, and its cost leaves with the second.
  for _ = 1, allowed == 1 and 0 or 10 do
    local second = redis.call('ZRANGE', key, '1', '1')[1]
    if tonumber(second) > total - limit then
      break
    end
    redis.call('ZREMRANGEBYRANK', key, '0', '0')
    floor = base
  end
  sliding_window_set(key, settings, limit, window, floor)
  redis.call('PEXPIREAT', key, format('%d', now + window))
end
