-- counter_field_put: sets one counter.
-- KEYS  1 the counters: hash; its TTL, if it has one, stays; 2 the index of names (lib/made.lua)
-- ARGV  1 the counter's name, 2 its value, within +-(2^53 - 1)
--@reply 2 created, 1 set
--@reply -1 too_many: size int
-- size is how many counters there would be, more than 500.
-- Errors: WRONGTYPE, also for a field that is not a counter; nothing done. O(1).
local name, given = ARGV[1], ARGV[2]
local value = redis.call('HGET', KEYS[1], name)
local count = value and counter_value(value) and 0 or redis.call('HLEN', KEYS[1]) + 1 -- 0: as many as before
if count > 500 then
  return { -1, now, count }
end
redis.call('HSET', KEYS[1], name, given)
if count == 1 then
  made = { KEYS[1] }
end
return { value and 1 or 2, now }
