-- bitmap_bit_put: writes one bit. A bitmap that is too short grows up to it.
-- KEYS[1]  the bitmap: string; its TTL, if it has one, stays
-- ARGV[1]  the bit's offset
-- ARGV[2]  1 or 0
--@reply 1: previous int
-- Errors: WRONGTYPE, nothing done. O(1), and 0.5 ms per MiB that it grows: the caller bounds the
-- offset.
local offset, value = ARGV[1], ARGV[2]
return { 1, now, redis.call('SETBIT', KEYS[1], offset, value) }
