-- geo_size: how many members a set has.
-- KEYS[1]  the set
-- Returns {0, now, members}: 0 for one that was never used
-- Errors: WRONGTYPE. O(1).
--@include time
--@reads
return {0, now_ms(), redis.call('ZCARD', KEYS[1])}
