-- cache_fill: reads a value, or gives one caller the ticket to make it.
-- KEYS[1]  the value
-- KEYS[2]  the ticket that is out: text, TTL
-- KEYS[3]  when invalidations are to be repeated
-- ARGV[1]  a ticket
-- ARGV[2]  how long it is to be good, ms
-- Returns {1, now, ticket, expires_at} there is no value, and the ticket is out now
--         {0, now, version, expires_at (-1: never), value}
--         {-1, now, expires_at} there is no value, and another ticket is out
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
