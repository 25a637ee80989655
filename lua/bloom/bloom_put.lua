-- bloom_put: makes a filter. Bits are allocated by what adds.
-- KEYS     the filter's (bloom/lib_bloom.lua)
-- ARGV[1]  capacity: items, at least 1
-- ARGV[2]  the error rate promised, above 0 and below 1
-- Returns {1, now, capacity, error rate as text, for each layer: bits, hashes, capacity, items,
--         bits set}: made
--         {0, the same} it was there, with the same capacity and error rate
--         {-4, the same} it is there with another capacity or error rate
--         {-2, now, segments}, {-3, now}: call again (bloom/lib_bloom.lua); one of this name is
--         still being deleted
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time bloom
local now = now_ms()
local filter, left = bloom_read()
if filter then
  local is_same = tonumber(filter.capacity) == tonumber(ARGV[1]) and tonumber(filter.error_rate) == tonumber(ARGV[2])
  return bloom_told(is_same and 0 or -4, now, filter)
elseif left and #KEYS - 1 < left then
  return { -2, now, left }
elseif left and not bloom_free(left) then
  return { -3, now }
end
filter = { capacity = ARGV[1], error_rate = ARGV[2], keys = 1 }
redis.call('HSET', KEYS[1], 'capacity', ARGV[1], 'error_rate', ARGV[2], 'segments', '0')
bloom_grow(filter)
return bloom_told(1, now, filter)
