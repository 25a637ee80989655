-- uv_combine_sum: the number of distinct visitors in sketches from several slots.
-- KEYS  two keys that are free, used within the script
-- ARGV  the sketches (bytes, as uv_combine_part returned them)
--@reply 0: count int
-- O(N), about 40 us for each sketch. It leaves nothing behind.
--@flags allow-oom
local first_sketch = ARGV[1]
local KEPT_MS = 10000 -- in case the script ends half-way
redis.call('SET', KEYS[1], first_sketch, 'PX', format('%d', KEPT_MS))
for i = 2, #ARGV do
  redis.call('SET', KEYS[2], ARGV[i], 'PX', format('%d', KEPT_MS))
  redis.call('PFMERGE', KEYS[1], KEYS[2])
end
local count = redis.call('PFCOUNT', KEYS[1])
redis.call('UNLINK', KEYS[1], KEYS[2])
return { 0, now, count }
