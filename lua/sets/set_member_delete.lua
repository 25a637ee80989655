-- set_member_delete: takes one member out of a set.
-- KEYS[1]  the set
-- ARGV[1]  the member
-- Returns {1, now} it is out, {0, now} it was not there
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time
--@flags allow-oom
local now = now_ms()
return { redis.call('SREM', KEYS[1], ARGV[1]), now }
