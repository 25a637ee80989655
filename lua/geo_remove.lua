-- geo_remove: takes one member out of a set.
-- KEYS[1]  the set
-- ARGV[1]  the member
-- Returns {1, now} removed, {0, now} it was not there
-- Errors: WRONGTYPE, nothing done. O(log M).
--@include time
--@flags allow-oom
local now = now_ms()
return {redis.call('ZREM', KEYS[1], ARGV[1]), now}
