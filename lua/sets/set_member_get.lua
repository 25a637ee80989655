-- set_member_get: whether a member is in a set.
-- KEYS[1]  the set
-- ARGV[1]  the member
--@reply 0: size int
--@reply -1 absent
-- Errors: WRONGTYPE. O(1).
--@reads
local member = ARGV[1]
if redis.call('SISMEMBER', KEYS[1], member) == 0 then
  return { -1, now }
end
return { 0, now, redis.call('SCARD', KEYS[1]) }
