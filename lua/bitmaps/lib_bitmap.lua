-- Ranges of bits, and how much of a range one call reads. This module must not know the bits: it
-- reads no key.
-- bit_range(bytes, first, last, unit): the first and the last bit of a range in a bitmap of so many
-- bytes; the range is empty when first > last. It reads a range as BITCOUNT does: `first` and
-- `last` are included, and count bytes ('BYTE') or bits ('BIT'), from the end when negative; what
-- is outside of the bitmap is cut off.
local function bit_range(bytes, first, last, unit)
  local scale = unit == 'BYTE' and 8 or 1
  local length = bytes * 8 / scale
  first, last = tonumber(first), tonumber(last)
  if first < 0 and last < first then
    return 0, -1 -- empty; if both were cut off to 0, it would look like one bit
  end
  if first < 0 then
    first = math.max(first + length, 0)
  end
  if last < 0 then
    last = math.max(last + length, 0)
  end
  return first * scale, (math.min(last, length - 1) + 1) * scale - 1
end
-- The bits that one call reads, 1 MiB: about 0.3 ms. Another call reads the rest of a range.
local STEP_BITS = 8388608
