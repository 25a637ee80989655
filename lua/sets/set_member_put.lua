-- set_member_put: adds one member to a set.
-- KEYS  1 the set; its TTL, if it has one, stays; 2 the index of names (lib/made.lua)
-- ARGV[1]  the member
--@reply 1 new, 0 known: size int
-- Errors: WRONGTYPE, nothing done. O(1).
local member = ARGV[1]
local added = redis.call('SADD', KEYS[1], member)
local size = redis.call('SCARD', KEYS[1])
if added == size then
  made = { KEYS[1] }
end
return { added, now, size }
