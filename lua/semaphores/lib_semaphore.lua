-- What a semaphore is in Redis, and each change of it.
-- A semaphore is two keys with the TTL of the last permit. The hash has limit and `o:<permit
-- hash>`: owner. The sorted set `permits` has the hash of each permit by its expires_at_ms. A
-- released permit stays there, by minus the instant until which the release is remembered, so that
-- a repeated release succeeds. Permits that expired and releases to forget are removed when they
-- are MOST_GONE.
local RELEASED_MS, MOST_GONE = 60000, 20

-- semaphore_read(key, permits, now): {limit (0: unknown), held, gone (permits that expired and
-- releases to forget, at most 100 together)}. Writes nothing. O(log permits + gone).
local function semaphore_read(key, permits_key, now)
  local limit = redis.call('HGET', key, 'limit') or '0'
  if not string.find(limit, '^%d+$') then
    error(redis.error_reply('WRONGTYPE the key holds a hash that is not a semaphore'))
  end
  return {
    key = key, permits_key = permits_key, now = now, limit = tonumber(limit),
    held = redis.call('ZCOUNT', permits_key, format('%d', now), '+inf'),
    gone = redis.call('ZRANGE', permits_key, format('%d', -now), format('(%d', now), 'BYSCORE', 'LIMIT', '0', '100'),
  }
end

-- semaphore_settle(s): forgets the permits in `gone`, if they are many. Call it when a permit is
-- acquired or extended, before any other change.
local function semaphore_settle(s)
  if #s.gone >= MOST_GONE then
    redis.call('ZREM', s.permits_key, unpack(s.gone))
    for i, permit in ipairs(s.gone) do
      s.gone[i] = 'o:' .. permit
    end
    redis.call('HDEL', s.key, unpack(s.gone))
  end
end

-- semaphore_holds(s, permit): when the permit expires, nil when it is not valid (any more). O(1).
local function semaphore_holds(s, permit)
  local expires_at_ms = tonumber(redis.call('ZSCORE', s.permits_key, permit))
  return expires_at_ms and expires_at_ms >= s.now and expires_at_ms or nil
end

-- semaphore_grant(s, permit, expires_at_ms): makes the permit valid until then; both keys live as
-- long as the last permit.
local function semaphore_grant(s, permit, expires_at_ms)
  redis.call('ZADD', s.permits_key, format('%d', expires_at_ms), permit)
  local last = redis.call('ZRANGE', s.permits_key, '-1', '-1', 'WITHSCORES')[2]
  redis.call('PEXPIREAT', s.key, last)
  redis.call('PEXPIREAT', s.permits_key, last)
end

-- semaphore_next_end(s): when the first permit expires, nil without a permit. O(log permits).
local function semaphore_next_end(s)
  return tonumber(redis.call('ZRANGE', s.permits_key, format('%d', s.now), '+inf', 'BYSCORE', 'LIMIT', '0', '1',
    'WITHSCORES')[2])
end

-- semaphore_was_released(s, permit): whether it was released within the last minute. O(1).
local function semaphore_was_released(s, permit)
  return -tonumber(redis.call('ZSCORE', s.permits_key, permit) or 0) > s.now
end

-- semaphore_drop(s, permit): releases it.
local function semaphore_drop(s, permit)
  redis.call('HDEL', s.key, 'o:' .. permit)
  redis.call('ZADD', s.permits_key, format('%d', -s.now - RELEASED_MS), permit)
  s.held = s.held - 1
end

-- semaphore_has_room(s, waiters, limit): whether there is room for one permit more beside the
-- waiters that were called, whose tickets end in their limits.
local function semaphore_has_room(s, waiters, limit)
  for _, ticket in ipairs(waiters.called) do
    limit = math.min(limit, tonumber(string.match(ticket, '%d+$') or 0))
  end
  return s.held + #waiters.called < limit
end

-- semaphore_serve(s, waiters): offers permits to as many waiters as there is room for. Call it
-- after any change.
local function semaphore_serve(s, waiters)
  while waiters.head and semaphore_has_room(s, waiters, tonumber(string.match(waiters.head, '%d+$') or 0)) do
    waiters_offer(waiters)
  end
  if not waiters.head then
    return
  end
  local next_end = semaphore_next_end(s)
  waiters_watch(waiters, next_end and next_end + 1 or math.huge) -- a permit is valid at its last instant
end
