-- bloom_get: what a filter holds.
-- KEYS  the filter's (bloom/lib_bloom.lua), the first is enough
-- Returns {0, now, capacity, error rate as text, expires_at_ms (-1: never), for each layer: bits,
--         hashes, capacity, items, bits set}
--         {-1, now} there is no filter
-- Errors: WRONGTYPE. O(layers).
--@include time expiry bloom
--@reads
local now = now_ms()
local filter = bloom_read()
if not filter then
  return { -1, now }
end
return bloom_told(0, now, filter, expires_at({ KEYS[1] }))
