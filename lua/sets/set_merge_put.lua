-- set_merge_put: adds some members to the merge that is being built aside.
-- KEYS  1 what is built: a set with a TTL
-- ARGV  1 how many members it must have before; then members, at most 1000
--@reply 0: members int
--@reply -1 lost
-- members is how many it has afterwards. lost: it did not have that many members before.
-- Errors: WRONGTYPE, nothing done. O(members).
local built = tonumber(ARGV[1])
local KEPT_MS = '60000'
if redis.call('SCARD', KEYS[1]) ~= built then
  return { -1, now }
end
redis.call('SADD', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
return { 0, now, redis.call('SCARD', KEYS[1]) }
