-- Redis's clock, and integers as text. This part needs no other.
-- now_ms(): Redis's clock, in Unix milliseconds. Call it once per script: on Redis 7.0 the clock
-- advances while a script runs.
local function now_ms()
  local t = redis.call('TIME')
  local now_us = t[1] * 1000000 + t[2]
  return (now_us - now_us % 1000) / 1000
end
-- digits(n): an integer as text. tostring, `..` and cjson would cut an instant to 14 digits; %d has
-- 64 bits, since the daemon requires a 64-bit Redis. Write a constant as text: redis.call takes
-- longer for a number.
local function digits(n)
  return string.format('%d', n)
end
