-- lock_quorum_fence: raises a lock's fence to the highest that any server of a majority proposed,
-- so that the next fence is higher, whichever majority grants it. The fence is raised even if the
-- token does not hold the lock here, but then the server does not acknowledge it: the next holder
-- may already have its fence here.
-- KEYS  1 the lock: hash, TTL; 2 its last fence: counter, no TTL
-- ARGV  1 hash of the token; 2 the fence
--@reply 1 fenced, 0 not_holder
-- fenced: the token holds the lock here, with that fence. not_holder: it does not hold it here.
-- Errors: WRONGTYPE, nothing done. O(1).
local token_hash, fence = ARGV[1], tonumber(ARGV[2])
local holds = redis.call('HEXISTS', KEYS[1], 't:' .. token_hash) == 1
if fence > fence_last(KEYS[2]) then
  redis.call('SET', KEYS[2], format('%d', fence))
end
if not holds then
  return { 0, now }
end
redis.call('HSET', KEYS[1], 'fence', format('%d', fence))
return { 1, now }
