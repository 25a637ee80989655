-- bitmap_bit_get: one bit.
-- KEYS[1]  the bitmap
-- ARGV[1]  the bit's offset
--@reply 0: bit int
-- The bit is 0 beyond the end.
-- Errors: WRONGTYPE. O(1).
--@reads
local offset = ARGV[1]
return { 0, now, redis.call('GETBIT', KEYS[1], offset) }
