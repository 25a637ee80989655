-- bit_range(bytes, first, last, unit): the bits that a range of a bitmap of so many bytes means, as
-- first and last; the range is empty when first > last. As BITCOUNT reads it: `first` and `last`
-- are included, count bytes ('BYTE') or bits ('BIT'), from the end when negative; what lies outside
-- is cut off.
local function bit_range(bytes, first, last, unit)
  local scale = unit == 'BYTE' and 8 or 1
  local length = bytes * 8 / scale
  first, last = tonumber(first), tonumber(last)
  if first < 0 and last < first then
    return 0, -1 -- both from the end: cut off, they would look like one
  end
  if first < 0 then
    first = math.max(first + length, 0)
  end
  if last < 0 then
    last = math.max(last + length, 0)
  end
  return first * scale, (math.min(last, length - 1) + 1) * scale - 1
end
-- Bits looked through in one call, 1 MiB: about 0.3 ms. What is left of a range is another call's.
local STEP_BITS = 8388608
