-- bitmap_put: replaces a whole bitmap.
-- KEYS[1]  the bitmap: string; its TTL, if it has one, stays
-- ARGV[1]  its bytes
--@reply 2 created, 1 replaced: expires_at_ms int
-- expires_at_ms is -1 for never.
-- Errors: WRONGTYPE, nothing done. O(N), about 2 ms per MiB: a request's body bounds it.
local content = ARGV[1]
redis.call('STRLEN', KEYS[1]) -- SET would replace a key of any type
local at = redis.call('PEXPIRETIME', KEYS[1])
redis.call('SET', KEYS[1], content, 'KEEPTTL')
return { at == -2 and 2 or 1, now, math.max(at, -1) }
