-- lock_acquire: acquires one lock or several, all or none, if they are free and no other client
-- waited before. With a token of the holder it acquires one lock once more. A request that waits is
-- in the wait queue of each lock.
-- KEYS  per lock four: the lock: hash, TTL; its last fence: counter, no TTL; its readers: sorted
--       set, TTL; its waiters (lib/waiters.lua); and the index of names (lib/made.lua)
-- ARGV[1]  ttl, ms
-- ARGV[2]  owner: a label, '' for none
-- ARGV[3]  metadata: JSON text, '' for none
-- ARGV[4]  hash of the token presented to re-enter (one lock only), '' for none
-- ARGV[5]  hash of the new token
-- ARGV[6]  the new token, sealed: returned as it is, so that a replay can return the first token
-- ARGV[7]  'exclusive' or 'shared'; '': exclusive, or the mode of the given token
-- Only of a request that waits:
-- ARGV[8]  ticket (lib/waiters.lua)
-- ARGV[9]  how long the ticket may still wait, ms; 0: this is its last try, after which it leaves
--          the wait queues
-- ARGV[10] how long it has waited, us
--@reply 1 taken, 2 entered: owner text, mode text, holds int, expires_at_ms int, sealed text,
-- fences int...
--@reply 0 held: lock_refusal
--@shape lock_refusal: next_at_ms int, which int, waiter_count int, holder_count int, mode text,
-- expires_at_ms int, holders (lock_holder)...
--@reply -1 not_holder
--@reply -2 mode_conflict: held_mode text
-- entered: the holder acquired the lock once more, and its TTL is renewed; fence, owner and
-- metadata are as they were.
-- held: the lock number `which` (from 0) is held until expires_at_ms at the latest. If mode is '',
-- that lock is free, and offered to another waiter until then. next_at_ms is when another try may
-- succeed; for a ticket that still waits, when it should try (-1: when it is notified).
-- not_holder: the token presented does not hold the lock. An expired token never makes a new lock.
-- A replay returns the first reply with the present expires_at_ms, while the granted token holds
-- each lock.
-- Errors: WRONGTYPE, nothing done. O(locks), O(waiters) when a daemon with waiters has died.
--@idempotent proof
--@plain
-- One lock without waiters that is free, or that another client holds in exclusive mode.
local presented, wanted_mode, ticket = ARGV[4], ARGV[7], ARGV[8]
local is_usual = #KEYS == LOCK_KEYS and presented == '' and wanted_mode ~= 'shared'
local existing = is_usual and redis.call('EXISTS', KEYS[1], KEYS[4])
if existing == 1 and (ticket or '') == '' then
  local fence, owner, mode = unpack(redis.call('HMGET', KEYS[1], 'fence', 'owner', 'mode'))
  if mode == 'exclusive' and tonumber(fence or '') and owner then
    local holds, ends_at = redis.call('HLEN', KEYS[1]) - LOCK_FIXED_FIELDS, redis.call('PEXPIRETIME', KEYS[1])
    if holds > 0 and ends_at > 0 then
      reply = { 0, now, ends_at, 0, 0, 1, mode, ends_at, owner, fence + 0, holds, ends_at, '' }
    end
  end
elseif existing == 0 then
  local ttl_ms, owner, metadata, new_hash, sealed = ARGV[1] + 0, ARGV[2], ARGV[3], ARGV[5], ARGV[6]
  -- One SET reads the last fence and writes the next one. A value that is not a fence is restored,
  -- and the operation refuses it.
  local fence, text, expires_at = now_us, format('%d', now_us), now + ttl_ms
  local last = redis.call('SET', KEYS[2], text, 'KEEPTTL', 'GET')
  if last and not last:find('^%d+$') then
    redis.call('SET', KEYS[2], last, 'KEEPTTL')
  else
    if last and last + 0 >= fence then -- Redis's clock went back
      fence = last + 1
      text = format('%d', fence)
      redis.call('SET', KEYS[2], text, 'KEEPTTL')
    end
    redis.call('HSET', KEYS[1], 'fence', text, 'owner', owner, 'mode', 'exclusive', 'metadata', metadata,
      't:' .. new_hash, text)
    redis.call('PEXPIREAT', KEYS[1], format('%d', expires_at))
    made = { KEYS[1] }
    reply, proves, lasts_ms = { 1, now, owner, 'exclusive', 1, expires_at, sealed, fence }, new_hash, ttl_ms
  end
end
--@operation
local ttl_ms, owner, metadata, presented, new_hash, sealed = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local mode, ticket, wait_ms, waited_us = ARGV[7], ARGV[8] or '', (ARGV[9] or 0) + 0, (ARGV[10] or 0) + 0
local expires_at = now + ttl_ms
local names = {}
for i = 1, #KEYS, LOCK_KEYS do
  local lock_key, fence_key, readers_key, waiters_key = unpack(KEYS, i, i + LOCK_KEYS - 1)
  names[#names + 1] = {
    key = lock_key, fence_key = fence_key, readers_key = readers_key, lock = lock_read(lock_key, readers_key, now),
    last_fence = fence_last(fence_key), waiters = waiters_read(lock_key, waiters_key, now, ticket),
  }
end

if granted then
  granted[6] = math.huge
  for _, n in ipairs(names) do
    local grant = n.lock and lock_grant_of(n.lock, proof)
    if not grant then
      return nil
    end
    granted[6] = math.min(granted[6], lock_grant_until(n.lock, grant))
  end
  return granted
end

if presented ~= '' then -- the holder enters once more
  local lock, waiters = names[1].lock, names[1].waiters
  local grant = lock and lock_grant_of(lock, presented)
  if not grant then
    return { -1, now }
  elseif mode ~= '' and mode ~= lock.mode then
    return { -2, now, lock.mode }
  end
  lock_settle(lock)
  local holds, fence = lock.holds + 1, lock.fence
  if lock.mode == 'shared' then
    redis.call('HSET', lock.key, 't:' .. new_hash, grant.fence)
    grant.tokens[#grant.tokens + 1] = new_hash
    lock_write_reader(lock, grant, expires_at)
    holds, fence, owner = #grant.tokens, tonumber(grant.fence), grant.owner
  else
    redis.call('HSET', lock.key, 't:' .. new_hash, format('%d', fence))
    lock_renew(lock, grant, expires_at)
    owner = lock.owner
  end
  waiters_settle(waiters)
  lock_serve(lock, waiters)
  return { 2, now, owner, lock.mode, holds, expires_at, sealed, fence }, new_hash, ttl_ms + 0
end
if mode == '' then
  mode = 'exclusive'
end

local can_take = true
for _, n in ipairs(names) do
  can_take = can_take and lock_admits(n.lock, mode) and waiters_has_turn(n.waiters, waited_us)
end
for _, n in ipairs(names) do
  waiters_settle(n.waiters)
  if n.lock then
    lock_settle(n.lock)
  end
end

local fences = {}
for i, n in ipairs(can_take and names or {}) do
  local lock = { key = n.key, readers_key = n.readers_key, mode = mode, now = now, expires_at_ms = expires_at }
  local fence, text = fence_next(n.fence_key, n.last_fence)
  fences[i] = fence
  if ticket ~= '' then
    waiters_leave(n.waiters)
  end
  if mode == 'exclusive' then
    redis.call('HSET', n.key, 'fence', text, 'owner', owner, 'mode', mode, 'metadata', metadata, 't:' .. new_hash, text)
    redis.call('PEXPIREAT', n.key, format('%d', expires_at))
  else
    if not n.lock then
      redis.call('UNLINK', n.readers_key) -- of a lock that was removed by hand
    end
    redis.call('HSET', n.key, 'fence', text, 'owner', '', 'mode', mode, 'metadata', '', 't:' .. new_hash, text)
    local reader = { fence = text, tokens = { new_hash }, metadata = metadata, owner = owner }
    lock_write_reader(lock, reader, expires_at)
  end
  if not n.lock then
    made = made or {}
    made[#made + 1] = n.key
  end
  lock_serve(lock, n.waiters) -- the next may be a reader too
end
if can_take then
  return { 1, now, owner, mode, 1, expires_at, sealed, unpack(fences) }, new_hash, ttl_ms + 0
end

-- A waiter for several locks is in all their wait queues or in none. So any two waiters have the
-- same order in each wait queue that both are in.
local waits_on, stands_in = ticket ~= '' and wait_ms > 0, 0
for _, n in ipairs(waits_on and names or {}) do
  stands_in = stands_in + (redis.call('ZSCORE', n.waiters.key, ticket) and 1 or 0)
end
for _, n in ipairs(ticket ~= '' and names or {}) do
  if not waits_on then
    waiters_leave(n.waiters)
  else
    if stands_in < #names then
      waiters_leave(n.waiters)
      n.waiters.is_called = n.waiters.is_called and waited_us > 0
    end
    waiters_join(n.waiters, now_us, waited_us)
  end
end

local next_at, look_at, blocking, which = math.huge, math.huge, nil, 0
for i, n in ipairs(names) do
  local admits, is_next = lock_admits(n.lock, mode), waiters_has_turn(n.waiters, waited_us)
  if admits and is_next and waits_on then
    waiters_hold(n.waiters, wait_ms) -- it waits for another of the locks
  end
  lock_serve(n.lock, n.waiters)
  look_at = math.min(look_at, n.waiters.look_at or math.huge)
  if not admits or not is_next then
    local called = n.waiters.called[1]
    n.offered_until = admits and called and n.waiters.until_of[called] or 0
    next_at = math.min(next_at, n.offered_until > 0 and n.offered_until or n.lock and n.lock.expires_at_ms or
      now + OFFER_MS)
    if not blocking or (n.lock and not blocking.lock) then
      blocking, which = n, i - 1
    end
  end
end
if waits_on then
  next_at = look_at < math.huge and look_at or -1
end
-- The waiters in front left their wait queues in this call: the next attempt is made at once.
if not blocking then
  blocking, next_at = names[1], now
  blocking.offered_until = now
end
local reply = { 0, now, next_at, which, waiters_count(blocking.waiters.key) }
if not blocking.lock then
  reply[6], reply[7], reply[8] = 0, '', blocking.offered_until
  return reply
end
reply[6], reply[7], reply[8] = blocking.lock.holder_count, blocking.lock.mode, blocking.lock.expires_at_ms
for _, value in ipairs(lock_holders(blocking.lock, false)) do
  reply[#reply + 1] = value
end
return reply
