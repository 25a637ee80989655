-- bitmap_bit_count: how many bits of a range are set, for as much of it as one call reads.
-- KEYS[1]  the bitmap
-- ARGV[1]  first of the range
-- ARGV[2]  last of the range, as bit_range takes them
-- ARGV[3]  'BYTE' or 'BIT': what these count
--@reply 0: count int, next_bit int, last_bit int
-- The caller continues from next_bit to last_bit, in bits; next_bit is -1 at the end.
-- Errors: WRONGTYPE. It reads at most STEP_BITS.
--@reads
local from, to, unit = ARGV[1], ARGV[2], ARGV[3]
local first, last = bit_range(redis.call('STRLEN', KEYS[1]), from, to, unit)
if first > last then
  return { 0, now, 0, -1, -1 }
end
local stop = math.min(last, first + STEP_BITS - 1)
local count = redis.call('BITCOUNT', KEYS[1], format('%d', first), format('%d', stop), 'BIT')
return { 0, now, count, stop < last and stop + 1 or -1, last }
