-- bitmap_put: replaces a whole bitmap.
-- KEYS[1]  the bitmap: string, no TTL
-- ARGV[1]  its bytes
--@reply 1: existed int
-- Errors: WRONGTYPE, nothing done. O(N), about 2 ms for each MiB: a request's body bounds it.
--@include time
local now = now_ms()
redis.call('STRLEN', KEYS[1]) -- SET would take the place of anything
local was_there = redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
return {1, now, was_there}
