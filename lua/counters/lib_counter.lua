-- counter_value(text): a counter as a number, exact within +-COUNTER_MOST. Anything else raises
-- WRONGTYPE.
local COUNTER_MOST = 2 ^ 53 - 1

local function counter_value(text)
  local value = tonumber(text == '0' and text or string.match(text, '^%-?[1-9]%d*$'))
  if not value or math.abs(value) > COUNTER_MOST then
    error(redis.error_reply('WRONGTYPE a field holds text that is not a counter'))
  end
  return value
end
