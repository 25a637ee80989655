-- lock_quorum_take: one server's part in acquiring a lock on a majority of several: acquires it
-- here if it is free here. Such a lock has no wait queue.
-- KEYS  1 the lock: hash, TTL; 2 its last fence: counter, no TTL; 3 its readers
-- ARGV  1 ttl, ms; 2 owner: a label, '' for none; 3 metadata: JSON text, '' for none; 4 hash of the
--       token
--@reply 1 taken: fence int
--@reply 0 held: fence int, expires_at_ms int, owner text
-- taken: the fence is this server's own proposal, see lock_quorum_fence.
-- held: another token holds it here.
-- Errors: WRONGTYPE, nothing done. O(1).
local ttl_ms, owner, metadata, token_hash = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local lock = lock_read(KEYS[1], KEYS[3], now)
local fence = math.max(fence_last(KEYS[2]) + 1, now_us)
if lock then
  return { 0, now, lock.fence, lock.expires_at_ms, lock.owner }
end
local text = format('%d', fence)
redis.call('SET', KEYS[2], text)
redis.call('HSET', KEYS[1], 'fence', text, 'owner', owner, 'mode', 'exclusive', 'metadata', metadata,
  't:' .. token_hash, text)
redis.call('PEXPIREAT', KEYS[1], format('%d', now + ttl_ms))
return { 1, now, fence }
