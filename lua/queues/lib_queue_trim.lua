-- Removes what is kept only for a time. This part must not know when the plan is written. Needs
-- queues/lib_queue_plan.lua and queues/lib_queue_page.lua.

-- trim(): plans to remove acknowledgements past their 150 s and ids past dedupe_ms, at most 500
-- each, and dead letters past dead_retention_ms and rates and pauses that have ended, at most 100
-- each. It is done at most once per second; when a bound was reached, the next receive continues.
-- Returns whether the key `groups` exists.
local function trim()
  local kept_since = digits(now - setting('dead_retention_ms'))
  local over = redis.call('ZRANGE', flight_key, '-' .. instant, '(0', 'BYSCORE', 'LIMIT', '0', '500')
  for _, member in ipairs(over) do
    plan('ZREM', flight_key, member)
    plan('HDEL', queue_key, member:sub(1, 17))
  end
  local is_all = #over < 500
  over = redis.call('ZRANGE', done_key, '0', instant, 'BYSCORE', 'LIMIT', '0', '500')
  local leads = queue_rules and queue_rules:find('^result_ms')
  for _, id in ipairs(over) do
    plan('ZREM', done_key, id)
    if leads then -- an id that was sent again is not among these
      plan('HDEL', ids_key, id)
    end
  end
  is_all = is_all and #over < 500
  if redis.call('ZCARD', dead_key) > 0 then
    over = redis.call('ZRANGE', dead_key, '-inf', kept_since, 'BYSCORE', 'LIMIT', '0', '100', 'WITHSCORES')
    for _, m in ipairs(messages_of(dead_key, over)) do
      forget(m)
    end
    is_all = is_all and #over < 200
  end
  local has_groups = redis.call('EXISTS', groups_key) == 1
  if has_groups then -- rates and pauses that have ended
    local past = string.format('%d%06d', clock[1], clock[2])
    over = redis.call('ZRANGE', groups_key, '100000000000000', past, 'BYSCORE', 'LIMIT', '0', '100')
    for _, member in ipairs(over) do
      plan('ZREM', groups_key, member)
    end
    is_all = is_all and #over < 100
  end
  if is_all then
    plan('HSET', queue_key, 'trim_at', digits(now + 1000))
  end
  return has_groups
end
