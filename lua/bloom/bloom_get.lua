-- bloom_get: the settings, layers and expiry of a filter.
-- KEYS  the keys of a filter (bloom/lib_bloom.lua); the first is enough
--@reply 0: bloom_filter
--@reply -1 absent
-- Errors: WRONGTYPE. O(layers).
--@reads
local filter = bloom_read()
if not filter then
  return { -1, now }
end
return bloom_reply(0, now, filter, expiry_at({ KEYS[1] }))
