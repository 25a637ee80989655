-- A replay: the deliveries of then that are still current.
local current = { granted[1], now, 0, -1 }
for i = 5, #granted do
  local item = granted[i]
  local hash = KEYS[item[5] * 13 + 1]
  local state = redis.call('HGET', hash, item[1] .. 's')
  local is_same = state and state:sub(1, 16) == item[3]:sub(1, 16)
  -- Of a message that was cancelled the content is gone.
  if is_same and state:sub(17, 29) > instant and redis.call('HEXISTS', hash, item[1]) == 1 then
    item[4] = tonumber(state:sub(17, 29))
    current[#current + 1] = item
  elseif item[1] == '' then -- a policy
    current[#current + 1] = item
  end
end
return current
