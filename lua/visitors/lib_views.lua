-- views_of(key): the views of one page and day, or its total, 0 to VIEWS_MOST, and whether the key
-- exists. Another value raises WRONGTYPE.
local VIEWS_MOST = 2 ^ 53 - 1

local function views_of(key)
  local text = redis.call('GET', key)
  local count = tonumber(string.match(text or '0', '^%d+$'))
  if not count or count > VIEWS_MOST then
    error(redis.error_reply('WRONGTYPE the key holds text that is not a counter'))
  end
  return count, text ~= false
end
