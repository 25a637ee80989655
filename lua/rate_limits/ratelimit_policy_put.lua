-- ratelimit_policy_put: stores all fields of a policy.
-- KEYS  1 policy: hash, no TTL; 2 the index of names (lib/made.lua)
-- ARGV  1..8 the fields (rate_limits/lib_limit_policy.lua); for a PATCH also 9..16, the fields as
--       ratelimit_policy_get returned them: the new ones are stored only while the policy still has
--       these
--@reply 1 new, 2 replaced, 0 changed_meanwhile
-- changed_meanwhile: the policy has other fields by now; nothing done.
-- Errors: WRONGTYPE, nothing done. O(1).
local outcome = redis.call('HLEN', KEYS[1]) > 0 and 2 or 1
local old, new = redis.call('HMGET', KEYS[1], unpack(POLICY_FIELDS)), {}
for i, field in ipairs(POLICY_FIELDS) do
  if ARGV[#POLICY_FIELDS + i] and (outcome == 1 or ARGV[#POLICY_FIELDS + i] ~= (old[i] or '')) then
    return { 0, now }
  end
  new[2 * i - 1], new[2 * i] = field, ARGV[i]
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(new))
if outcome == 1 then
  made = { KEYS[1] }
end
return { outcome, now }
