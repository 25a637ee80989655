-- counter_field_get: one counter.
-- KEYS[1]  the counters: hash
-- ARGV[1]  its name
--@reply 0: value int
--@reply -1 absent
-- Errors: WRONGTYPE, also for a field that is not a counter. O(1).
--@reads
local name = ARGV[1]
local value = redis.call('HGET', KEYS[1], name)
if not value then
  return { -1, now }
end
return { 0, now, counter_value(value) }
