-- What waiters receive, on the channel named as the resource's first key (a sharded one: it lives
-- in the key's slot). By then the work is done: a user without permission for the channels must not
-- turn it into an error (the daemon logs subscription_refused).

-- publish(channel, message): as service/wait/channel.c reads it. O(daemons that subscribed).
local function publish(channel, message)
  redis.pcall('SPUBLISH', channel, message)
end

-- wake(channel, units, in_ms): so much is there now, and more in that time (-1: nothing is known).
local function wake(channel, units, in_ms)
  publish(channel, digits(units) .. ' ' .. digits(in_ms))
end

-- channel_of(key): the channel of the resource that a key is a part of: up to its name's brace.
local function channel_of(key)
  return string.match(key, '^[^}]*}') or key
end
