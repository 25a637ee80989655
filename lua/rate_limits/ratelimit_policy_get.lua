-- ratelimit_policy_get: tells a policy.
-- KEYS  1 policy: hash, no TTL
-- Returns {0, now_ms, algorithm, limit, window_ms, burst, count_refused, on_error, shadow,
--         key_header}, texts, '' where there is nothing
--         {-1, now_ms} there is no such policy
-- Errors: WRONGTYPE. O(1).
--@include time
--@reads
local now = now_ms()
if redis.call('HLEN', KEYS[1]) == 0 then
  return { -1, now }
end
local reply = { 0, now }
local fields = redis.call('HMGET', KEYS[1], 'algorithm', 'limit', 'window_ms', 'burst', 'count_refused', 'on_error',
  'shadow', 'key_header')
for i, value in ipairs(fields) do
  reply[i + 2] = value or ''
end
return reply
