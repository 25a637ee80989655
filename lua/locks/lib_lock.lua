-- What a lock is in Redis, and each change of it.
-- A lock is a hash with the TTL of its last holder: fence (the highest given out with it), owner,
-- mode, metadata, and what lock_acquire adds:
--   exclusive  `t:<token hash>`, for each token of the one holder: the fence
--   shared     `t:<token hash>`: the fence of its reader; `r:<fence>`: the reader's token hashes, a
--              tab, the number of bytes of its metadata, a tab, metadata and owner. The sorted set
--              `readers` has the fence of each reader by its expires_at_ms
-- A hash that lock_acquire did not make raises WRONGTYPE. A lock is without a TTL after a script
-- that was cut short, or after PUT /keys/{key}/ttl. It then counts as held for LOCK_LONGEST_MS, the
-- longest ttl there is, from the first call on that may change it.
local LOCK_KEYS, LOCK_FIXED_FIELDS, LOCK_LONGEST_MS = 4, 4, 86400000
local LOCK_RELEASED_MS = '60000'

local function foreign_lock()
  error(redis.error_reply('WRONGTYPE the key holds a hash that is not a lock'))
end

-- lock_reader(lock, fence): {fence, tokens (a list of hashes), metadata, owner}, nil without such a
-- reader. O(its tokens).
local function lock_reader(lock, fence)
  local record = redis.call('HGET', lock.key, 'r:' .. fence)
  if not record then
    return nil
  end
  local hashes, size, rest = string.match(record, '^([%x ]+)\t(%d+)\t(.*)$')
  if not hashes then
    foreign_lock()
  end
  local reader = {
    fence = fence, tokens = {}, metadata = string.sub(rest, 1, size), owner = string.sub(rest, size + 1),
  }
  for hash in string.gmatch(hashes, '%x+') do
    reader.tokens[#reader.tokens + 1] = hash
  end
  return reader
end

-- lock_read(key, readers, now): nil when the lock is free; else {key, fence, owner, mode,
-- expires_at_ms, holder_count}. An exclusive lock also has holds (the number of its tokens), a
-- shared lock gone (at most 100 readers whose lease expired; holder_count counts none of these).
-- Writes nothing. O(log readers + gone).
local function lock_read(key, readers_key, now)
  local f = redis.call('HMGET', key, 'fence', 'owner', 'mode')
  local fields = redis.call('HLEN', key)
  if fields == 0 then
    redis.call('ZCARD', readers_key)
    return nil
  end
  local lock = {
    key = key, readers_key = readers_key, now = now, fence = tonumber(f[1] or ''), owner = f[2], mode = f[3],
    holds = fields - LOCK_FIXED_FIELDS, holder_count = 1, expires_at_ms = redis.call('PEXPIRETIME', key), gone = {},
  }
  if not (lock.fence and lock.owner and lock.mode) or lock.holds < 1 then
    foreign_lock()
  end
  if lock.expires_at_ms < 0 then
    lock.is_endless, lock.expires_at_ms = true, now + LOCK_LONGEST_MS
  end
  if lock.mode == 'shared' then
    lock.holder_count = redis.call('ZCOUNT', readers_key, format('%d', now), '+inf')
    local ended = redis.call('ZRANGE', readers_key, '-inf', '(' .. format('%d', now), 'BYSCORE', 'LIMIT', '0', '100')
    for i, fence in ipairs(ended) do
      lock.gone[i] = lock_reader(lock, fence) or { fence = fence, tokens = {} }
    end
  end
  return lock
end

-- lock_forget_reader(lock, reader): removes its record and its lease. The caller removes its
-- tokens. O(1).
local function lock_forget_reader(lock, reader)
  redis.call('HDEL', lock.key, 'r:' .. reader.fence)
  redis.call('ZREM', lock.readers_key, reader.fence)
end

-- lock_time_reader(lock, reader, expires_at_ms): sets when its lease ends. O(log readers).
local function lock_time_reader(lock, reader, expires_at_ms)
  redis.call('ZADD', lock.readers_key, format('%d', expires_at_ms), reader.fence)
end

-- lock_settle(lock): removes the readers whose lease expired, and gives a lock without a TTL one.
-- Call it before any other change of the lock.
local function lock_settle(lock)
  if lock.is_endless then
    redis.call('PEXPIREAT', lock.key, format('%d', lock.expires_at_ms))
  end
  for _, reader in ipairs(lock.gone) do
    lock_forget_reader(lock, reader)
    for _, hash in ipairs(reader.tokens) do
      redis.call('HDEL', lock.key, 't:' .. hash)
    end
  end
  lock.gone = {}
end

-- lock_grant_of(lock, token_hash): the reader that holds the lock by this token; for an exclusive
-- lock an empty table; nil or false when the token does not hold the lock (any more). O(1).
local function lock_grant_of(lock, hash)
  local value = redis.call('HGET', lock.key, 't:' .. hash)
  if not value or lock.mode == 'exclusive' then
    return value and {}
  end
  local expires_at_ms = tonumber(redis.call('ZSCORE', lock.readers_key, value))
  return expires_at_ms and expires_at_ms >= lock.now and lock_reader(lock, value) or nil
end

-- lock_grant_until(lock, grant): when that grant ends. O(1).
local function lock_grant_until(lock, grant)
  return grant.fence and tonumber(redis.call('ZSCORE', lock.readers_key, grant.fence)) or lock.expires_at_ms
end

-- lock_free(lock): removes a lock that has no holder any more. An exclusive lock has no readers, so
-- the key of that name is left alone.
local function lock_free(lock)
  redis.call('UNLINK', lock.key)
  if lock.mode == 'shared' then
    redis.call('UNLINK', lock.readers_key)
  end
end

-- lock_keep_for_readers(lock): gives a shared lock the TTL of its last reader. Without a reader it
-- frees the lock, and returns false.
local function lock_keep_for_readers(lock)
  local last = redis.call('ZRANGE', lock.readers_key, '-1', '-1', 'WITHSCORES')[2]
  if not last or tonumber(last) < lock.now then
    lock_free(lock)
    return false
  end
  lock.expires_at_ms = tonumber(last)
  redis.call('PEXPIREAT', lock.key, last)
  redis.call('PEXPIREAT', lock.readers_key, last)
  return true
end

-- lock_write_reader(lock, reader, expires_at_ms): writes a reader that is new or changed.
local function lock_write_reader(lock, reader, expires_at_ms)
  redis.call('HSET', lock.key, 'r:' .. reader.fence,
    table.concat(reader.tokens, ' ') .. '\t' .. format('%d', #reader.metadata) .. '\t' .. reader.metadata ..
      reader.owner)
  lock_time_reader(lock, reader, expires_at_ms)
  lock_keep_for_readers(lock)
end

-- lock_renew(lock, grant, expires_at_ms): makes the grant last until then.
local function lock_renew(lock, grant, expires_at_ms)
  if lock.mode == 'exclusive' then
    redis.call('PEXPIREAT', lock.key, format('%d', expires_at_ms))
    lock.expires_at_ms = expires_at_ms
  else
    lock_time_reader(lock, grant, expires_at_ms)
    lock_keep_for_readers(lock)
  end
end

-- lock_drop(lock, grant, hash): releases one token; the last one frees the lock. Returns how many
-- tokens its holder has left, and whether any client still holds the lock.
local function lock_drop(lock, grant, hash)
  local left = (grant.tokens and #grant.tokens or lock.holds) - 1
  if left == 0 and lock.holder_count == 1 then
    lock_free(lock)
    return 0, false
  end
  redis.call('HDEL', lock.key, 't:' .. hash)
  if lock.mode == 'exclusive' then
    return left, true
  elseif left == 0 then
    lock_forget_reader(lock, grant)
    return 0, lock_keep_for_readers(lock)
  end
  local others = {}
  for _, token in ipairs(grant.tokens) do
    if token ~= hash then
      others[#others + 1] = token
    end
  end
  grant.tokens = others
  lock_write_reader(lock, grant, tonumber(redis.call('ZSCORE', lock.readers_key, grant.fence)))
  return left, true
end

-- lock_holds_of(lock, fence): how many tokens the holder with that fence has, 0 when it does not
-- hold the lock any more. `lock` is nil when it is free. O(its tokens).
local function lock_holds_of(lock, fence)
  if not lock then
    return 0
  elseif lock.mode == 'exclusive' then
    return format('%d', lock.fence) == fence and lock.holds or 0
  end
  local expires_at_ms = tonumber(redis.call('ZSCORE', lock.readers_key, fence))
  local reader = expires_at_ms and expires_at_ms >= lock.now and lock_reader(lock, fence)
  return reader and #reader.tokens or 0
end

-- lock_holders(lock, has_metadata): a flat list of the items of each holder. A shared lock has at
-- most 16 there, in the order in which they expire. Metadata may be large: it is '' unless
-- has_metadata. O(16).
--@shape lock_holder: owner text, fence int, holds int, expires_at_ms int, metadata text
local function lock_holders(lock, has_metadata)
  if lock.mode == 'exclusive' then
    local metadata = has_metadata and redis.call('HGET', lock.key, 'metadata') or ''
    return { lock.owner, lock.fence, lock.holds, lock.expires_at_ms, metadata }
  end
  local list = {}
  local flat = redis.call('ZRANGE', lock.readers_key, format('%d', lock.now), '+inf', 'BYSCORE', 'LIMIT', '0', '16',
    'WITHSCORES')
  for i = 1, #flat, 2 do
    local reader = lock_reader(lock, flat[i])
    if reader then
      list[#list + 1] = reader.owner
      list[#list + 1] = tonumber(reader.fence)
      list[#list + 1] = #reader.tokens
      list[#list + 1] = tonumber(flat[i + 1])
      list[#list + 1] = has_metadata and reader.metadata or ''
    end
  end
  return list
end

-- lock_admits(lock, mode): whether its holders admit another holder in that mode ('exclusive' or
-- 'shared').
local function lock_admits(lock, mode)
  return not lock or (lock.mode == 'shared' and mode == 'shared')
end

-- lock_serve(lock, waiters): offers the lock to the first waiter, one at a time, if there is room
-- for the mode in which its ticket ends. Call it after any change. `lock` is nil when it is free.
local function lock_serve(lock, waiters)
  local mode = string.sub(waiters.head or '', -1) == 's' and 'shared' or 'exclusive'
  if waiters.head and not waiters.called[1] and lock_admits(lock, mode) then
    waiters_offer(waiters)
  end
  waiters_watch(waiters, lock and lock.expires_at_ms + 1 or math.huge) -- Redis removes a key after its instant
end
