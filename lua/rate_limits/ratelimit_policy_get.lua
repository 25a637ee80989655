-- ratelimit_policy_get: returns a policy.
-- KEYS  1 policy: hash, no TTL
--@reply 0: limit_policy
--@reply -1 absent
-- A field that the policy does not have is ''.
-- Errors: WRONGTYPE. O(1).
--@reads
if redis.call('HLEN', KEYS[1]) == 0 then
  return { -1, now }
end
local reply = { 0, now }
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(POLICY_FIELDS))) do
  reply[i + 2] = value or ''
end
return reply
