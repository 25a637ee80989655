-- A lock is a hash with a TTL: fence, owner, mode, metadata, and one field `t:<token hash>` for each token that holds
-- it. What lock_acquire did not make raises WRONGTYPE.
local LOCK_FIXED_FIELDS = 4
-- lock_read(key): {fence, owner, mode, holds, expires_at_ms}, nil when nobody holds it. O(1).
local function lock_read(key)
  local f = redis.call('HMGET', key, 'fence', 'owner', 'mode')
  local fields = redis.call('HLEN', key)
  if fields == 0 then
    return nil
  end
  local expires_at_ms = redis.call('PEXPIRETIME', key)
  local fence = tonumber(f[1] or '')
  if not (fence and f[2] and f[3]) or fields <= LOCK_FIXED_FIELDS or expires_at_ms < 0 then
    error(redis.error_reply('WRONGTYPE the key holds a hash that is not a lock'))
  end
  return {fence, f[2], f[3], fields - LOCK_FIXED_FIELDS, expires_at_ms}
end
-- lock_is_held_by(key, token_hash): whether this token holds it. O(1).
local function lock_is_held_by(key, token_hash)
  return redis.call('HEXISTS', key, 't:' .. token_hash) == 1
end
-- lock_last_fence(key): the last fence given out or seen, 0 when there never was one. O(1).
local function lock_last_fence(key)
  local fence = redis.call('GET', key) or '0'
  if not string.find(fence, '^%d+$') then
    error(redis.error_reply('WRONGTYPE the key holds text that is not a fence'))
  end
  return tonumber(fence)
end
