-- Refuses keys that are not a queue's, and reads what its hash has for all messages. This module
-- writes nothing. A script that many calls run includes this only where it needs it: each function
-- costs time whenever the script runs, and more if it uses many variables.

-- Known after check_types(): queue.rules_text, the field `rules` of the queue's hash, and
-- queue.rules, its table (nil: none but result_ms); queue.is_full, whether `concurrency` refused a
-- receive; queue.group_paused_until, until when, in ms, any group is paused.

-- check_types(): fails for a key of another type. Call it before a script writes to several keys;
-- it looks once.
local function check_types()
  if queue.are_checked then
    return
  end
  local of_queue = redis.call('HMGET', keys[QUEUE], 'layout', 'rules', 'full', 'group_paused_until')
  check_layout(of_queue[1])
  queue.rules_text, queue.is_full = of_queue[2], of_queue[3]
  queue.rules = queue.rules_text and read_rules(queue.rules_text)
  queue.group_paused_until = tonumber(of_queue[4] or 0)
  redis.call('ZCARD', keys[READY])
  redis.call('ZCARD', keys[DELAYED])
  redis.call('ZCARD', keys[FLIGHT])
  redis.call('ZCARD', keys[DEAD])
  redis.call('HLEN', keys[IDS])
  redis.call('ZCARD', keys[DONE])
  redis.call('ZCARD', keys[SCHEDULES])
  redis.call('ZCARD', keys[WAITERS])
  queue.are_checked = true
end

-- check_groups(): as check_types(), for the keys of groups.
local function check_groups()
  if queue.are_groups_checked then
    return
  end
  redis.call('ZCARD', keys[ORDER])
  redis.call('ZCARD', keys[BUSY])
  redis.call('ZCARD', keys[GROUPS])
  queue.are_groups_checked = true
end
