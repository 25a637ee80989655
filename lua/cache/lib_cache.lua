-- What a cached value is in Redis, and what its scripts share.
-- A cached value is a hash with a TTL: `value`, JSON text, and `version`. A key that these scripts
-- did not make raises WRONGTYPE. Beside the value are keys with their own TTLs:
--   fence    the highest fence seen; kept until a day after the value expires
--   fill     the valid fill ticket
--   again    sorted set of the instants at which an invalidation is to be repeated: a value or
--            ticket that is made before such an instant expires at it, or earlier
--   waiters  the wait queue of clients that wait for a value; it is removed with the first value
--@shape cache_entry: version text, expires_at_ms int
--@shape cached: cache_entry, value text
-- expires_at_ms is -1 for never.
local FENCE_KEPT_MS = 86400000
-- cache_version(key): the value's version, nil when there is no value. O(1).
local function cache_version(key)
  local version = redis.call('HGET', key, 'version')
  if not version and redis.call('EXISTS', key) == 1 then
    error(redis.error_reply('WRONGTYPE the key holds a hash that is not a cached value'))
  end
  return version or nil
end
-- cache_read(key, now, version, outcome): the reply {outcome, now, ...} with the cached value. O(1)
-- and the value's bytes.
local function cache_read(key, now, version, outcome)
  local value = redis.call('HGET', key, 'value')
  if not value then
    error(redis.error_reply('WRONGTYPE the key holds a hash that is not a cached value'))
  end
  return { outcome, now, version, redis.call('PEXPIRETIME', key), value }
end
-- cache_highest(key): the highest fence seen, nil when there was none. O(1).
local function cache_highest(key)
  local fence = redis.call('GET', key)
  if fence and not string.find(fence, '^%d+$') then
    error(redis.error_reply('WRONGTYPE the key holds text that is not a fence'))
  end
  return fence and tonumber(fence)
end
-- cache_keep_fence(key, fence, until_ms): stores the fence until a day after until_ms, or as long
-- as the key was to be kept before, if that is longer. O(1).
local function cache_keep_fence(key, fence, until_ms)
  local kept_at = math.max(redis.call('PEXPIRETIME', key), until_ms + FENCE_KEPT_MS)
  redis.call('SET', key, format('%d', fence), 'PXAT', format('%d', kept_at))
end
-- cache_end(key, now, at): `at`, or the instant of the next repeated invalidation if that comes
-- first. O(log n).
local function cache_end(key, now, at)
  local again = redis.call('ZRANGEBYSCORE', key, '(' .. format('%d', now), '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  return math.min(at, tonumber(again[2] or at))
end
-- cache_is_listed(list, version): whether a condition names the present version. The list is '*',
-- or tags between blanks.
local function cache_is_listed(list, version)
  return version ~= nil and (list == '*' or string.find(list, ' ' .. version .. ' ', 1, true) ~= nil)
end
