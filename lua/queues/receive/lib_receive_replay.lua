-- A replay: the deliveries of the first reply that are still current, or all if they were done at
-- once. This part changes nothing. Needs `granted` and `proof` (lib/idempotency.lua), and
-- queues/lib_queue.lua.
local current = { granted[1], now, 0, -1 }
for i = 5, #granted do
  local item = granted[i]
  if item[1] == '' then -- its policy has not decided yet
    if now - granted[2] < 2000 then
      return { -2, now }
    end
    current[#current + 1] = item
  elseif proof == 'done' then
    current[#current + 1] = item
  else
    local hash = KEYS[item[5] * 13 + 1]
    local state = redis.call('HGET', hash, item[1] .. 's')
    local is_same = state and state:sub(1, 16) == item[3]:sub(1, 16)
    -- The content of a cancelled message is gone.
    if is_same and state:sub(17, 29) > instant and redis.call('HEXISTS', hash, item[1]) == 1 then
      item[4] = tonumber(state:sub(17, 29))
      current[#current + 1] = item
    end
  end
end
return current
