-- ratelimit_policy_put: stores a policy, whole.
-- KEYS  1 policy: hash, no TTL
-- ARGV  8 values: algorithm, limit, window_ms, burst, count_refused, on_error, shadow, key_header;
--       of a PATCH 8 more, as ratelimit_policy_get returned them: only while the policy has those
-- Returns {1 it is new | 2 it replaced one | 0 it is another by now, nothing done, now_ms}.
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time
local FIELDS = { 'algorithm', 'limit', 'window_ms', 'burst', 'count_refused', 'on_error', 'shadow', 'key_header' }
local outcome = redis.call('HLEN', KEYS[1]) > 0 and 2 or 1
local old, new = redis.call('HMGET', KEYS[1], unpack(FIELDS)), {}
for i, field in ipairs(FIELDS) do
  if ARGV[#FIELDS + i] and (outcome == 1 or ARGV[#FIELDS + i] ~= (old[i] or '')) then
    return { 0, now_ms() }
  end
  new[2 * i - 1], new[2 * i] = field, ARGV[i]
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(new))
return { outcome, now_ms() }
