-- ratelimit_policy_delete: deletes a policy.
-- KEYS  1 policy: hash, no TTL
--@reply 1 deleted, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
if redis.call('HLEN', KEYS[1]) == 0 then
  return { 0, now }
end
return { redis.call('DEL', KEYS[1]), now }
