-- set_member_put: puts one member into a set.
-- KEYS[1]  the set; its TTL, if it has one, stays
-- ARGV[1]  the member
-- Returns {1, now, members} it is new, {0, now, members} it was there
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time
local now = now_ms()
local added = redis.call('SADD', KEYS[1], ARGV[1])
return { added, now, redis.call('SCARD', KEYS[1]) }
