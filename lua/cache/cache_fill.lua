-- cache_fill: reads a value, or gives one caller the ticket to make it.
-- KEYS[1]  the value
-- KEYS[2]  the ticket that is out: text, TTL
-- KEYS[3]  when invalidations are to be repeated
-- ARGV[1]  a ticket
-- ARGV[2]  how long it is to be good, ms
--@reply 1 granted: ticket text, expires_at_ms int
--@reply 0: cached
--@reply -1 in_progress: retry_at_ms int
-- granted: there is no value, and the ticket is out now. in_progress: there is no value, and
-- another ticket is out until retry_at_ms.
-- A replay: the reply of then, while that ticket is out.
-- Errors: WRONGTYPE, nothing done. O(1) and the value's bytes.
--@include time cache
--@idempotent proof
local now, version = now_ms(), cache_version(KEYS[1])
local ticket = redis.call('GET', KEYS[2])
if granted then
  return ticket == granted[3] and granted
end
local expires_at = cache_end(KEYS[3], now, now + tonumber(ARGV[2]))
if version then
  return cache_read(KEYS[1], now, version, 0)
end
if ticket then
  return {-1, now, redis.call('PEXPIRETIME', KEYS[2])}
end
redis.call('SET', KEYS[2], ARGV[1], 'PXAT', digits(expires_at))
return {1, now, ARGV[1], expires_at}, true, expires_at - now
