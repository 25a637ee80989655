-- What those who wait are told, on the channel named as the resource's first key (a sharded one: it lives in the key's slot).
-- wake(channel, units, in_ms): so much is there now, and more in that time (-1: nothing is known). O(daemons that listen).
-- By then the work is done: a user without the channels must not make an error of it (the daemon says subscription_refused).
local function wake(channel, units, in_ms)
  redis.pcall('SPUBLISH', channel, digits(units) .. ' ' .. digits(in_ms))
end
