-- counter_increment: adds to counters, to all of them or to none.
-- KEYS  1 the counters: hash; its TTL, if it has one, stays; 2 the index of names (lib/made.lua)
-- ARGV     pairs of a name and what to add, within +-(2^53 - 1): at most 100, no name twice
--@reply 1 added: sums int...
--@reply -1 overflow: name text, value int, by int
--@reply -2 too_many: size int
-- sums has what each counter is now, in the order of ARGV. name is the first whose sum is beyond
-- +-(2^53 - 1). size is how many counters there would be, more than 500.
-- Errors: WRONGTYPE, also for a field that is not a counter; nothing done. O(N).
--@idempotent
--@plain
-- One counter that exists.
local name, by = ARGV[1], ARGV[2]
local value = #ARGV == 2 and redis.call('HGET', KEYS[1], name)
if value and #value < 16 and value:find('^%-?[1-9]%d*$') and math.abs(value + by) < COUNTER_MOST then
  reply = { 1, now, redis.call('HINCRBY', KEYS[1], name, by) }
end
--@operation
local names = {}
for i = 1, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
end
local values = redis.call('HMGET', KEYS[1], unpack(names))
local new = 0
for i = 1, #names do
  local value, by = counter_value(values[i] or '0'), tonumber(ARGV[2 * i])
  if math.abs(value + by) > COUNTER_MOST then
    return { -1, now, names[i], value, by }
  end
  new = new + (values[i] and 0 or 1)
end
local count = new > 0 and redis.call('HLEN', KEYS[1]) + new
if count and count > 500 then
  return { -2, now, count }
end
local reply = { 1, now }
for i = 1, #names do
  reply[i + 2] = redis.call('HINCRBY', KEYS[1], names[i], ARGV[2 * i])
end
if count == new then
  made = { KEYS[1] }
end
return reply
