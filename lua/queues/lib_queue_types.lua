-- What is refused because it is not a queue's. Wants queues/lib_queue.lua. A script that many calls
-- run takes it in only where it is needed: each function costs whenever the script runs, the more
-- variables it uses, the more.

local are_checked = false
local queue_rules -- the field `rules` of the queue's hash, once its keys were looked at
local rules -- the same as a table, nil for none

-- Fails for a key of a foreign type, before a script writes to several. It looks once.
local function check_types()
  if are_checked then
    return
  end
  local stored = redis.call('HMGET', queue_key, 'layout', 'rules')
  local layout = stored[1]
  queue_rules = stored[2]
  rules = queue_rules and not queue_rules:find('^result_ms=') and cmsgpack.unpack(queue_rules)
--@include queue_layout
  redis.call('ZCARD', ready_key)
  redis.call('ZCARD', delayed_key)
  redis.call('ZCARD', flight_key)
  redis.call('ZCARD', dead_key)
  redis.call('HLEN', ids_key)
  redis.call('ZCARD', done_key)
  redis.call('ZCARD', schedules_key)
  redis.call('ZCARD', waiters_key)
  are_checked = true
end

local function foreign(what)
  error(redis.error_reply('WRONGTYPE ' .. queue_key .. ' holds ' .. what))
end
