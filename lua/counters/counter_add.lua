-- counter_add: adds to counters, to all of them or to none.
-- KEYS[1]  the counters: hash, no TTL
-- ARGV     name, what to add (64 bits, as text); and so on, at most 100, none twice
-- Returns {1, now, value, ...}: what each counter is now, as text, in the order of ARGV
--         {-1, now, name, value as text, what to add} the sum of the first such is beyond 64 bits
--         {-2, now, counters} there would be that many, more than 500
-- Errors: WRONGTYPE, also for a field that is not a counter; nothing done. O(N).
--@include time
--@idempotent
local now = now_ms()
local names = {}
for i = 1, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
end
local values = redis.call('HMGET', KEYS[1], unpack(names))

local function foreign()
  error(redis.error_reply('WRONGTYPE a field holds text that is not a counter'))
end

-- An integer as text, as billions and rest: 64 bits are more than a number of Lua holds exactly.
local function halves(text)
  local sign, figures = string.match(text, '^(%-?)([1-9]%d*)$')
  if text == '0' then
    return 0, 0
  elseif not figures or #figures > 19 then
    foreign()
  end
  local one = sign == '-' and -1 or 1
  return one * (tonumber(string.sub(figures, 1, -10)) or 0), one * tonumber(string.sub(figures, -9))
end

-- Whether a sum is within 64 bits.
local function fits(a, b)
  local high_a, low_a = halves(a)
  local high_b, low_b = halves(b)
  local low = low_a + low_b
  local carry = math.floor(low / 1000000000)
  local high = high_a + high_b + carry
  low = low - carry * 1000000000
  return (high < 9223372036 or high == 9223372036 and low <= 854775807)
    and (high > -9223372037 or high == -9223372037 and low >= 145224192)
end

local new = 0
for i = 1, #names do
  local value, by = values[i] or '0', ARGV[2 * i]
  if not fits(value, '0') then
    foreign()
  elseif not fits(value, by) then
    return { -1, now, names[i], value, by }
  end
  new = new + (values[i] and 0 or 1)
end
local count = redis.call('HLEN', KEYS[1]) + new
if new > 0 and count > 500 then
  return { -2, now, count }
end
for i = 1, #names do
  redis.call('HINCRBY', KEYS[1], names[i], ARGV[2 * i])
end
return { 1, now, unpack(redis.call('HMGET', KEYS[1], unpack(names))) } -- HINCRBY's reply would lose digits past 2^53
