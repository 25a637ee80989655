-- cache_item_get: a value's version and expiry, without the value.
-- KEYS[1]  the value
--@reply 0: cache_entry
--@reply -1 absent
-- Errors: WRONGTYPE. O(1).
--@reads
local version = cache_version(KEYS[1])
if not version then
  return { -1, now }
end
return { 0, now, version, redis.call('PEXPIRETIME', KEYS[1]) }
