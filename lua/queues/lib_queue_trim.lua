-- Removes what is kept only for a time.

-- trim(): plans to remove acknowledgements past their 150 s and ids past dedupe_ms, at most 500
-- each, and dead letters past dead_retention_ms and rates and pauses that have ended, at most 100
-- each. It is done at most once per second; when a bound was reached, the next receive continues.
-- Returns whether the key `groups` exists.
local function trim()
  local kept_since = format('%d', now - setting('dead_retention_ms'))
  local over = redis.call('ZRANGE', keys[FLIGHT], '-' .. instant, '(0', 'BYSCORE', 'LIMIT', '0', '500')
  for _, member in ipairs(over) do
    plan('ZREM', keys[FLIGHT], member)
    plan('HDEL', keys[QUEUE], member:sub(1, 17))
  end
  if over[1] then -- the newest of them
    end_failing(over[1])
  end
  local is_all = #over < 500
  over = redis.call('ZRANGE', keys[DONE], '0', instant, 'BYSCORE', 'LIMIT', '0', '500')
  local leads = queue.rules_text and queue.rules_text:find('^result_ms')
  for _, id in ipairs(over) do
    plan('ZREM', keys[DONE], id)
    if leads then -- an id that was sent again is not among these
      plan('HDEL', keys[IDS], id)
    end
  end
  is_all = is_all and #over < 500
  if redis.call('ZCARD', keys[DEAD]) > 0 then
    over = redis.call('ZRANGE', keys[DEAD], '-inf', kept_since, 'BYSCORE', 'LIMIT', '0', '100', 'WITHSCORES')
    for _, m in ipairs(messages_of(keys[DEAD], over)) do
      forget(m)
    end
    is_all = is_all and #over < 200
  end
  local has_groups = redis.call('EXISTS', keys[GROUPS]) == 1
  if has_groups then -- rates and pauses that have ended
    local past = format('%d%06d', clock[1], clock[2])
    over = redis.call('ZRANGE', keys[GROUPS], '100000000000000', past, 'BYSCORE', 'LIMIT', '0', '100')
    for _, member in ipairs(over) do
      plan('ZREM', keys[GROUPS], member)
    end
    is_all = is_all and #over < 100
  end
  if is_all then
    plan('HSET', keys[QUEUE], 'trim_at', format('%d', now + 1000))
  end
  return has_groups
end
