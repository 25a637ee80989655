-- bitmap_size_get: how long a bitmap is, and when it expires.
-- KEYS[1]  the bitmap
--@reply 0: bitmap
--@reply -1 absent
-- Errors: WRONGTYPE. O(1).
--@reads
--@shape bitmap: bytes int, expires_at_ms int
-- expires_at_ms is -1 for never.
local bytes, at = redis.call('STRLEN', KEYS[1]), redis.call('PEXPIRETIME', KEYS[1])
if at == -2 then
  return { -1, now }
end
return { 0, now, bytes, at }
