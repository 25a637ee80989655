-- What those who wait are told, on the channel named as the resource's first key (a sharded one: it lives in the key's slot).
-- wake(channel, units, in_ms): so much is there now, and more in that time (-1: nothing is known). O(daemons that listen).
local function wake(channel, units, in_ms)
  redis.call('SPUBLISH', channel, digits(units) .. ' ' .. digits(in_ms))
end
