-- ratelimit_policy_put: stores a policy, whole.
-- KEYS  1 policy: hash, no TTL
-- ARGV  its fields and their values: algorithm, limit, window_ms, burst, count_refused, on_error,
--       shadow, key_header
-- Returns {1 it is new | 2 it replaced one, now_ms}. Errors: WRONGTYPE, nothing done. O(1).
--@include time
local outcome = redis.call('HLEN', KEYS[1]) > 0 and 2 or 1
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV))
return { outcome, now_ms() }
