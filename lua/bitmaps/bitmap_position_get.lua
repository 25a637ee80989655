-- bitmap_position_get: the first bit of a range that is set, or clear, as far as one call reads.
-- KEYS[1]  the bitmap
-- ARGV[1]  1 or 0: the bit to look for
-- ARGV[2]  first of the range
-- ARGV[3]  last of the range, as bit_range takes them; '' for a range without end: clear bits
--          follow the bitmap
-- ARGV[4]  'BYTE' or 'BIT': what these count
--@reply 0: position int, next_bit int, last_bit int
-- The position is -1 when the bit was not found. The caller then continues from next_bit to
-- last_bit, in bits ('' stays ''); next_bit is -1 at the end.
-- Errors: WRONGTYPE. It reads at most STEP_BITS.
--@reads
local bit, from, to, unit = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local bytes = redis.call('STRLEN', KEYS[1])
local endless = to == ''
local first, last = bit_range(bytes, from, endless and '-1' or to, unit)
-- BITPOS would answer with a bit before the range, or with none.
if first > last then
  return { 0, now, endless and bit == '0' and first or -1, -1, -1 }
end
local stop = math.min(last, first + STEP_BITS - 1)
local found = redis.call('BITPOS', KEYS[1], bit, format('%d', first), format('%d', stop), 'BIT')
if found < 0 and stop < last then
  return { 0, now, -1, stop + 1, last }
elseif found < 0 and endless and bit == '0' then
  found = last + 1
end
return { 0, now, found, -1, -1 }
