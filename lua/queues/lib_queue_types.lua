-- Refuses keys that are not a queue's, and reads what its hash has for all messages. This part
-- writes nothing. Needs queues/lib_queue.lua. A script that many calls run includes this only where
-- it needs it: each function costs time whenever the script runs, the more variables it uses, the
-- more.

local are_checked, are_groups_checked = false, false
-- They are known after check_types(): the field `rules` of the queue's hash, and its table (nil:
-- none but result_ms); whether `concurrency` refused a receive; until when, in ms, any group is
-- paused.
local queue_rules, rules, is_full, group_paused_until = nil, nil, false, 0

--@include queue_rules

-- check_types(): fails for a key of another type. Call it before a script writes to several keys;
-- it looks once.
local function check_types()
  if are_checked then
    return
  end
  local of_queue = redis.call('HMGET', queue_key, 'layout', 'rules', 'full', 'group_paused_until')
  local layout = of_queue[1]
--@include queue_layout
  queue_rules, is_full = of_queue[2], of_queue[3]
  rules = queue_rules and read_rules(queue_rules)
  group_paused_until = tonumber(of_queue[4] or 0)
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

-- check_groups(): as check_types(), for the keys of groups.
local function check_groups()
  if are_groups_checked then
    return
  end
  redis.call('ZCARD', order_key)
  redis.call('ZCARD', busy_key)
  redis.call('ZCARD', groups_key)
  are_groups_checked = true
end

local function foreign(what)
  error(redis.error_reply('WRONGTYPE ' .. queue_key .. ' holds ' .. what))
end
