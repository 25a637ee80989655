-- end_of_group(m): plans that a message in flight leaves its group, for queue_delivery_acknowledge.
-- Returns true if the next message of the group will be ready. Nothing else may be planned.
local function end_of_group(m)
  local mark, is_next_ready = m.group .. TAKEN .. place_of(m), false
  redis.call('ZCARD', keys[BUSY])
  if (group_limit() or queue.rules and queue.rules.was_limited) and promote(m.group, mark) then
    redis.call('ZCARD', keys[READY])
    is_next_ready = true
  end
  plan('ZREM', keys[BUSY], mark)
  return is_next_ready
end
