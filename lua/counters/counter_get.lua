-- counter_get: all counters under a name.
-- KEYS[1]  the counters: hash
-- Returns {0, now, name, value, ...}
-- Errors: WRONGTYPE, also for what has more fields than counters could, or a field that is not a
-- counter. O(counters), at most 500.
--@include time counter
--@reads
local now = now_ms()
if redis.call('HLEN', KEYS[1]) > 500 then
  error(redis.error_reply('WRONGTYPE the key holds more fields than counters'))
end
local flat = redis.call('HGETALL', KEYS[1])
for i = 2, #flat, 2 do
  flat[i] = counter_value(flat[i])
end
return { 0, now, unpack(flat) }
