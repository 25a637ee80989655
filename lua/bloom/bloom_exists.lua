-- bloom_exists: whether items are in a filter, for as many as half a millisecond takes.
-- KEYS     the filter's (bloom/lib_bloom.lua)
-- ARGV     items, at least 1: the 16 bytes of their hash
-- Returns {0, now, text}: a digit for each of the first items: '1' it is there, or a false
--         positive, '0' it is not. The items without a digit are left: call again with them
--         {-1, now}, {-2, now, segments}: see bloom/lib_bloom.lua
-- Errors: WRONGTYPE. O(items * (hashes + layers)), in all at most 160 bits and those of one item.
--@include time bloom
--@reads
local now = now_ms()
local filter = bloom_read()
if not filter then
  return { -1, now }
elseif #KEYS < filter.keys then
  return { -2, now, filter.keys - 1 }
end
bloom_check(filter)
local found, calls = {}, 0
for i = 1, #ARGV do
  if calls >= bloom_most_calls then
    break
  end
  local is_there, asked = bloom_has(filter, #filter, ARGV[i])
  found[i] = is_there and '1' or '0'
  calls = calls + asked
end
return { 0, now, table.concat(found) }
