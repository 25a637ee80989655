-- set_member_delete: removes one member from a set.
-- KEYS[1]  the set
-- ARGV[1]  the member
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local member = ARGV[1]
return { redis.call('SREM', KEYS[1], member), now }
