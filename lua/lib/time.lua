-- now_ms(): Redis's own clock, Unix milliseconds. Read it once a script: on Redis 7.0 it advances
-- while a script runs.
local function now_ms()
  local t = redis.call('TIME')
  local now_us = t[1] * 1000000 + t[2]
  return (now_us - now_us % 1000) / 1000
end
-- digits(n): an integer as text. tostring, `..` and cjson would cut an instant to 14 digits; %d has
-- 64 bits, since the daemon requires a Redis of 64. Write a constant as text: redis.call takes
-- longer for a number.
local function digits(n)
  return string.format('%d', n)
end
