-- lock_acquire: acquires one lock or several, all or none, if they are free and no other client
-- waited before. With a token of the holder it acquires one lock once more. A request that waits is
-- in the wait queue of each lock.
-- KEYS  per lock four: the lock: hash, TTL; its last fence: counter, no TTL; its readers: sorted
--       set, TTL; its waiters (lib/waiters.lua); and the index of names (lib/names.lua)
-- ARGV[1]  ttl, ms
-- ARGV[2]  owner: a label, '' for none
-- ARGV[3]  metadata: JSON text, '' for none
-- ARGV[4]  hash of the token presented to re-enter (one lock only), '' for none
-- ARGV[5]  hash of the new token
-- ARGV[6]  the new token, sealed: returned as it is, so that a replay can return the first token
-- ARGV[7]  'exclusive' or 'shared'; '': exclusive, or the mode of the given token
-- ARGV[8]  ticket (lib/waiters.lua), '' for a request that does not wait
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
--@include time names
local LOCK_KEYS, LOCK_FIXED_FIELDS = 4, 4 -- as in lib_lock.lua, which most calls do not reach
local ttl_ms, owner, metadata, presented, new_hash, sealed = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local mode, ticket, wait_ms, waited_us = ARGV[7], ARGV[8], ARGV[9] + 0, ARGV[10] + 0
local t = redis.call('TIME')
local now_us = t[1] * 1000000 + t[2]
local now = (now_us - now_us % 1000) / 1000
local expires_at = now + ttl_ms

local function take_alone(key, fence_text)
  redis.call('HSET', key, 'fence', fence_text, 'owner', owner, 'mode', 'exclusive', 'metadata', metadata,
    't:' .. new_hash, digits(now))
  redis.call('PEXPIREAT', key, digits(expires_at))
  name_made(key)
end

-- Most calls acquire one lock without waiters, which is free, or which another client holds in
-- exclusive mode. They return before the other libraries, so that none of their functions is made:
-- that saves Redis two fifths of the time.
local is_usual = not granted and #KEYS == LOCK_KEYS and presented == '' and mode ~= 'shared'
local existing = is_usual and redis.call('EXISTS', KEYS[1], KEYS[4])
if existing == 1 and ticket == '' then
  local fence, its_owner, its_mode = unpack(redis.call('HMGET', KEYS[1], 'fence', 'owner', 'mode'))
  if its_mode == 'exclusive' and tonumber(fence or '') and its_owner then
    local holds, ends_at = redis.call('HLEN', KEYS[1]) - LOCK_FIXED_FIELDS, redis.call('PEXPIRETIME', KEYS[1])
    if holds > 0 and ends_at > 0 then
      return { 0, now, ends_at, 0, 0, 1, its_mode, ends_at, its_owner, fence + 0, holds, ends_at, '' }
    end
  end
end
-- One SET reads the last fence and writes the next one. A value that is not a fence is restored,
-- and the code below `@otherwise` refuses it.
if existing == 0 then
  local fence, fence_text = now_us, digits(now_us)
  local last = redis.call('SET', KEYS[2], fence_text, 'KEEPTTL', 'GET')
  if last and not string.find(last, '^%d+$') then
    redis.call('SET', KEYS[2], last, 'KEEPTTL')
  else
    if last and last + 0 >= fence then -- Redis's clock went back
      fence = last + 1
      fence_text = digits(fence)
      redis.call('SET', KEYS[2], fence_text, 'KEEPTTL')
    end
    take_alone(KEYS[1], fence_text)
    return { 1, now, owner, 'exclusive', 1, expires_at, sealed, fence }, new_hash, ttl_ms + 0
  end
end

--@otherwise last_fence waiters lock
-- next_fence(key, last): writes the fence that comes after the last one, and returns it as number
-- and text.
local function next_fence(key, last)
  local fence = math.max(last + 1, now_us)
  local text = digits(fence)
  redis.call('SET', key, text, 'KEEPTTL')
  return fence, text
end
local names = {}
for i = 1, #KEYS, LOCK_KEYS do
  local lock_key, fence_key, readers_key, waiters_key = unpack(KEYS, i, i + LOCK_KEYS - 1)
  names[#names + 1] = {
    key = lock_key, fence_key = fence_key, readers_key = readers_key, lock = lock_read(lock_key, readers_key, now),
    last_fence = last_fence(fence_key), waiters = waiters_read(lock_key, waiters_key, now, ticket),
  }
end

local function as_granted()
  local ends_at = math.huge
  for _, n in ipairs(names) do
    local grant = n.lock and lock_grant_of(n.lock, proof)
    if not grant then
      return nil
    end
    ends_at = math.min(ends_at, lock_grant_until(n.lock, grant))
  end
  granted[6] = ends_at
  return granted
end
if granted then
  return as_granted()
end

local function enter_again(lock, waiters)
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
    redis.call('HSET', lock.key, 't:' .. new_hash, digits(now))
    lock_renew(lock, grant, expires_at)
    owner = lock.owner
  end
  waiters_settle(waiters)
  lock_serve(lock, waiters)
  return { 2, now, owner, lock.mode, holds, expires_at, sealed, fence }, new_hash, ttl_ms + 0
end
if presented ~= '' then
  return enter_again(names[1].lock, names[1].waiters)
end
if mode == '' then
  mode = 'exclusive'
end

local function is_my_turn(n)
  return n.waiters.is_called or
    not n.waiters.called[1] and waiters_is_next(n.waiters, now_us, waited_us)
end
local can_take = true
for _, n in ipairs(names) do
  can_take = can_take and lock_admits(n.lock, mode) and is_my_turn(n)
end
for _, n in ipairs(names) do
  waiters_settle(n.waiters)
  if n.lock then
    lock_settle(n.lock)
  end
end

local function take(n)
  local fence, fence_text = next_fence(n.fence_key, n.last_fence)
  local lock = { key = n.key, readers_key = n.readers_key, mode = mode, now = now, expires_at_ms = expires_at }
  if ticket ~= '' then
    waiters_leave(n.waiters)
  end
  if mode == 'exclusive' then
    take_alone(n.key, fence_text)
  else
    if not n.lock then
      redis.call('UNLINK', n.readers_key) -- of a lock that was removed by hand
    end
    redis.call('HSET', n.key, 'fence', fence_text, 'owner', '', 'mode', mode, 'metadata', '', 't:' .. new_hash,
      fence_text)
    local reader = { fence = fence_text, tokens = { new_hash }, metadata = metadata, owner = owner }
    lock_write_reader(lock, reader, expires_at)
    if not n.lock then
      name_made(n.key)
    end
  end
  lock_serve(lock, n.waiters) -- the next may be a reader too
  return fence
end
if can_take then
  local reply = { 1, now, owner, mode, 1, expires_at, sealed }
  for i, n in ipairs(names) do
    reply[7 + i] = take(n)
  end
  return reply, new_hash, ttl_ms + 0
end

-- join_all(): a waiter for several locks is in all their wait queues or in none. So any two waiters
-- have the same order in each wait queue that both are in.
local function join_all()
  local stands_in = 0
  for _, n in ipairs(names) do
    stands_in = stands_in + (redis.call('ZSCORE', n.waiters.key, ticket) and 1 or 0)
  end
  for _, n in ipairs(names) do
    if stands_in < #names then
      waiters_leave(n.waiters)
      n.waiters.is_called = n.waiters.is_called and waited_us > 0
    end
    waiters_join(n.waiters, now_us, waited_us)
  end
end
if ticket ~= '' and wait_ms > 0 then
  join_all()
elseif ticket ~= '' then
  for _, n in ipairs(names) do
    waiters_leave(n.waiters)
  end
end

local next_at, look_at, blocking, which = math.huge, math.huge, nil, 0
for i, n in ipairs(names) do
  local admits, is_next = lock_admits(n.lock, mode), is_my_turn(n)
  if admits and is_next and ticket ~= '' and wait_ms > 0 then
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
if ticket ~= '' and wait_ms > 0 then
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
