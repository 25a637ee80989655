-- The counters under a name are one hash, with a field for each. This module must not know how
-- counters change: it only reads.
-- counter_value(text): a counter as a number, exact within +-COUNTER_MOST. Any other text raises
-- WRONGTYPE.
local COUNTER_MOST = 2 ^ 53 - 1

local function counter_value(text)
  local value = tonumber(text == '0' and text or string.match(text, '^%-?[1-9]%d*$'))
  if not value or math.abs(value) > COUNTER_MOST then
    error(redis.error_reply('WRONGTYPE a field holds text that is not a counter'))
  end
  return value
end

-- counter_state(key): all counters, as a flat list of names and values. A key with more fields than
-- counters can be raises WRONGTYPE. O(counters), at most 500.
--@shape counter: name text, value int
--@shape counter_state: expires_at_ms int, counters (counter)...
-- expires_at_ms is -1 for never.
local function counter_state(key)
  if redis.call('HLEN', key) > 500 then
    error(redis.error_reply('WRONGTYPE the key holds more fields than counters'))
  end
  local flat = redis.call('HGETALL', key)
  for i = 2, #flat, 2 do
    flat[i] = counter_value(flat[i])
  end
  return flat
end
