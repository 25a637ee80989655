-- counter_field_delete: removes one counter.
-- KEYS[1]  the counters: hash; Redis removes it with its last counter
-- ARGV[1]  the counter's name
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, also for a field that is not a counter; nothing done. O(1).
--@flags allow-oom
local name = ARGV[1]
local value = redis.call('HGET', KEYS[1], name)
if not value then
  return { 0, now }
end
counter_value(value)
redis.call('HDEL', KEYS[1], name)
return { 1, now }
