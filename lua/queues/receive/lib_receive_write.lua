-- Fourth: writes what was chosen of queue `i`, after all reads. This part must not know why a
-- message was chosen. Needs the variables of queue_message_receive.
local q = queues[i]
if (q.dropped or acknowledges and q.states[1]) and q.rules and q.rules.max_messages then
  local rules = q.rules
--@include queue_room
  read_room()
  q.serve_senders = serve_senders
end
if q.groups then
--@include receive_write_groups
end
if q.spent and q.spent > 0 then
  redis.call('ZADD', groups_key, q.spend(q.rules.rate, q.rate_stored, q.spent), 'q')
end
if q.timed then
  redis.call('ZREM', groups_key, unpack(q.timed))
end
if q.dropped then
  redis.call('HLEN', ids_key)
  redis.call('HINCRBY', queue_key, 'expired', digits(q.dropped))
  if q.dropped_ids[1] then
    redis.call('HDEL', ids_key, unpack(q.dropped_ids))
  end
end
if q.members[1] then
  redis.call('ZREM', ready_key, unpack(q.members))
end
if acknowledges and q.states[1] then
--@include queue_types queue_settings queue_done
  q.gone, q.ended = q.gone or {}, q.ended or {}
  for k = 1, #q.states, 2 do
    q.ended[#q.ended + 1] = q.states[k]:sub(1, 16)
    q.gone[#q.gone + 1] = q.ended[#q.ended]
    if (q.result_ms or 0) == 0 then
      q.gone[#q.gone + 1] = q.states[k]
    end
  end
  if q.ids then
    remember_ids(q.ids, q.result_ms or 0)
  end
  if (q.result_ms or 0) > 0 then
--@include queue_result
    local remembered_until = digits(now + math.max(150000, q.result_ms))
    for k = 1, #q.states, 2 do
      q.flight[k] = '-' .. remembered_until
      q.states[k + 1] = done_state(q.states[k + 1], remembered_until, '-', q.result_ms)
    end
    redis.call('ZADD', flight_key, unpack(q.flight))
    redis.call('HSET', queue_key, unpack(q.states))
  end
elseif q.states[1] then
  redis.call('ZADD', flight_key, unpack(q.flight))
  redis.call('HSET', queue_key, unpack(q.states))
end
if q.gone then
  redis.call('HDEL', queue_key, unpack(q.gone))
end
if q.serve_senders then
  q.serve_senders()
end
if q.ended and q.result_ms then
--@include queue_result
  wake_waiters(q.ended)
end
if q.followed then
--@include queue_types queue_settings queue_message queue_change queue_plan
  are_checked, queue_rules, rules, group_paused_until = true, q.rules_text, q.rules, q.paused_until -- checked above
  for _, m in ipairs(q.followed) do
    follow(m)
  end
  commit(true)
  reply[3] = reply[1] == 0 and not q.is_paused and 1 or reply[3]
end
