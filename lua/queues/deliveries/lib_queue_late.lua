-- Receipts that count late: the last one of a message whose visibility has ended, while the message
-- was not delivered again. The state of such a message, which has no nonce, has a mark of it in
-- place of visible_until_ms (late_mark in queues/deliveries/lib_queue_ended.lua).

-- holds_group(m): whether a message may be in flight now. In a strict queue, only the message that
-- holds its group may.
local function holds_group(m)
  return m.group == '' or not queue.rules or queue.rules.order ~= 'strict'
    or redis.call('ZSCORE', keys[BUSY], m.group .. TAKEN .. place_of(m))
end

-- recall(seq, nonce, finishes): puts a message back into flight for a millisecond, if this was its
-- last delivery and only time has ended it. So the script ends or extends a delivery that is
-- current. What time has changed stays counted. With `finishes` the delivery is acknowledged: then
-- the message may also be a dead letter, or wait until its strict group is free. It writes, so a
-- script calls it before it plans anything, and reads the state afterwards.
local function recall(seq, nonce, finishes)
  local field, mark = seq .. 's', late_mark(nonce)
  local state = redis.call('HGET', keys[QUEUE], field)
  local is_last = state and mark ~= NO_END
    and (state:sub(1, 29) == NO_NONCE .. mark or state:sub(1, 16) == nonce and state:sub(17, 29) <= instant)
  if not is_last then
    return
  end
  if not queue.has_settled then -- else the answer would depend on whether a receive has come since
    read_waiters()
    settle_time('250')
    queue.has_settled, state = true, redis.call('HGET', keys[QUEUE], field)
  end
  if plan_message(seq, state) then -- it was not among the first 250
    commit()
    state = redis.call('HGET', keys[QUEUE], field)
  end
  if not state or state:sub(1, 29) ~= NO_NONCE .. mark then
    return
  end
  local m, place = find_sequence(seq)
  if not m or place == 'expired' or not finishes and (place == 'dead' or not holds_group(m)) then
    return
  end
  unmark(m)
  m.nonce, m.ends = nonce, format('%d', now + 1)
  if m.receives == 1 then -- its nonce has that again
    m.marks = m.marks:gsub('f%d+', '')
  end
  if m.group ~= '' then
    plan('ZADD', keys[BUSY], '0', m.group .. TAKEN .. place_of(m))
    touch(m.group)
  end
  move(m, keys[FLIGHT], m.ends, flight_member(m))
  commit()
end
