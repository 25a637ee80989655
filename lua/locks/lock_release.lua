-- lock_release: releases one token, or all. Without a token left the lock is free, and offered to
-- the first waiter. Its fence stays.
-- KEYS  1 the lock: hash, TTL; 2 its readers: sorted set, TTL; 3 its waiters (lib/waiters.lua); 4
--       its last release: string of the holder's fence and the hash of its token, kept for a minute
-- ARGV  1 hash of the token; 2 '1': releases the lock from any holder, and ignores the token
--@reply 1 released, 0 released_before, -1 not_holder: holds int, held_fence int
-- holds: how many tokens this holder has left. held_fence: the fence of the lock, 0 when no client
-- holds it. released_before: this token made the last release, within the last minute, whether
-- another client holds the lock now or not. not_holder: the token does not hold it (any more), or
-- the lock is free; nothing is released.
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) when a daemon with waiters has died; Redis
-- frees the memory in the background.
--@flags allow-oom
--@plain
-- The lock has one holder with one token, and no waiters. With GET, SET refuses a key that is not a
-- string.
local token_hash, is_forced = ARGV[1], ARGV[2] == '1'
if not is_forced and redis.call('EXISTS', KEYS[3]) == 0 then
  local mode, token, fence = unpack(redis.call('HMGET', KEYS[1], 'mode', 't:' .. token_hash, 'fence'))
  if token and mode == 'exclusive' and redis.call('HLEN', KEYS[1]) == LOCK_FIXED_FIELDS + 1 then
    redis.call('SET', KEYS[4], fence .. ' ' .. token_hash, 'PX', LOCK_RELEASED_MS, 'GET')
    redis.call('UNLINK', KEYS[1])
    reply = { 1, now, 0, 0 }
  end
end
--@operation
local token_hash, is_forced = ARGV[1], ARGV[2] == '1'
local lock = lock_read(KEYS[1], KEYS[2], now)
local waiters = waiters_read(KEYS[1], KEYS[3], now, '')
local grant = lock and not is_forced and lock_grant_of(lock, token_hash)
local last_release = redis.call('GET', KEYS[4])
if not lock or not (is_forced or grant) then
  local fence, hash = string.match(last_release or '', '^(%d+) (%x+)$')
  local is_known = not is_forced and hash == token_hash
  return { is_known and 0 or -1, now, is_known and lock_holds_of(lock, fence) or 0, lock and lock.fence or 0 }
end
lock_settle(lock)
waiters_settle(waiters)
local left, is_held = 0, false
if is_forced then
  lock_free(lock)
else
  left, is_held = lock_drop(lock, grant, token_hash)
  redis.call('SET', KEYS[4], (grant.fence or format('%d', lock.fence)) .. ' ' .. token_hash, 'PX', LOCK_RELEASED_MS)
end
lock_serve(is_held and lock or nil, waiters)
return { 1, now, left, is_held and lock.fence or 0 }
