-- ratelimit_policy_get: returns a policy.
-- KEYS  1 policy: hash, no TTL
-- Returns {0, now_ms, the fields (rate_limits/lib_limit_policy.lua)}, texts, '' where there is
--         nothing
--         {-1, now_ms} there is no such policy
-- Errors: WRONGTYPE. O(1).
--@include time limit_policy
--@reads
local now = now_ms()
if redis.call('HLEN', KEYS[1]) == 0 then
  return { -1, now }
end
local reply = { 0, now }
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(POLICY_FIELDS))) do
  reply[i + 2] = value or ''
end
return reply
