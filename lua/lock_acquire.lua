-- lock_acquire: takes a free lock, or enters it once more for one of its holder's tokens.
-- KEYS[1]  the lock: hash, TTL
-- KEYS[2]  its last fence: counter, no TTL
-- ARGV[1]  ttl, ms
-- ARGV[2]  owner: a label, '' for none
-- ARGV[3]  metadata: JSON text, '' for none
-- ARGV[4]  hash of the token presented to re-enter, '' for none
-- ARGV[5]  hash of the new token
-- ARGV[6]  the new token, sealed: handed back as it is, so that a replay can be given the first token
-- Returns {1, now, fence, owner, mode, holds, expires_at, sealed} taken
--         {2, the same} entered once more: TTL renewed, fence, owner and metadata as they were
--         {0, now, owner, fence, expires_at} held by somebody else
--         {-1, now} the token presented does not hold it: an expired one never makes a new lock
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time lock
--@idempotent
local ttl_ms, presented = tonumber(ARGV[1]), ARGV[4]
local new_field = 't:' .. ARGV[5]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local lock = lock_read(KEYS[1])
local last_fence = lock_last_fence(KEYS[2])

if presented ~= '' then
  if not lock or not lock_is_held_by(KEYS[1], presented) then
    return {-1, now}
  end
  redis.call('HSET', KEYS[1], new_field, digits(now))
  redis.call('PEXPIREAT', KEYS[1], digits(now + ttl_ms))
  return {2, now, lock[1], lock[2], lock[3], lock[4] + 1, now + ttl_ms, ARGV[6]}
end
if lock then
  return {0, now, lock[2], lock[1], lock[5]}
end

local fence = math.max(last_fence + 1, t[1] * 1000000 + t[2])
redis.call('SET', KEYS[2], digits(fence))
redis.call('HSET', KEYS[1], 'fence', digits(fence), 'owner', ARGV[2], 'mode', 'exclusive', 'metadata', ARGV[3],
  new_field, digits(now))
redis.call('PEXPIREAT', KEYS[1], digits(now + ttl_ms))
return {1, now, fence, ARGV[2], 'exclusive', 1, now + ttl_ms, ARGV[6]}
