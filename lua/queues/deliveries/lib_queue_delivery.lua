-- The delivery that a receipt names. Wants queues/deliveries/lib_queue_ended.lua.

-- Plans that the delivery of a cancelled message ends, since its worker learns of it. That is
-- remembered for 150 s, as an acknowledgement is.
local function end_cancelled(m)
  local remembered_until = digits(now + 150000)
  plan('ZADD', flight_key, '-' .. remembered_until, m.member)
  plan('HSET', queue_key, m.seq .. 's', m.nonce .. remembered_until .. 'dc')
  unmark(m)
end

-- Returns its message when the delivery is current: not acknowledged, not returned, not delivered
-- again, and its visibility has not ended. Otherwise nil, and whether its message was cancelled:
-- then it is planned that the delivery ends. `state` is the stored one.
local function current_delivery(seq, nonce, state)
  if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
    return nil
  elseif state:sub(30, 30) == 'd' then
    return nil, state:sub(31, 31) == 'c'
  end
  local m = read_state(state)
  m.seq, m.place, m.at = seq, flight_key, tonumber(m.ends)
  m.member = flight_member(m)
  if has_mark(m, 'c') then
    end_cancelled(m)
    return nil, true
  end
  return m
end

-- As if a message had not been received: its delivery does not count. It is due at `at`.
local function uncount(m, at)
  clear_delivery(m)
  m.receives, m.worker, m.at = m.receives - 1, '', at
end

-- When a message was sent. A long content is not read for that: its sequence is, but for the last
-- of a batch, the same instant.
local function sent_at_of(m)
  local content = m.size ~= 'b' and redis.call('HGET', queue_key, m.seq)
  return content and read_header(content).sent_at or math.min(math.floor(m.seq / 1000), now)
end

-- Plans that a current delivery ends without an acknowledgement. Its message is due again after
-- delay_ms (below 0: the queue's backoff), dead when it was delivered often enough, or dropped when
-- it is past its ttl. `kind` is '0', '1': it is dead at once, or '2': the delivery does not count,
-- so its message is never dead, and without a delay it is due since it was sent, in front of what
-- came later. Returns 'due', 'dead' or 'expired'; m.at is then due_ms, died_at_ms or 0.
local function give_back(m, delay_ms, reason, kind)
  local state
  if kind == '1' then
    state = 'dead'
    die(m, now, reason)
  elseif is_expired(m) then
    state = 'expired'
    m.at = 0
  elseif kind == '2' then
    state = 'due'
    uncount(m, delay_ms > 0 and now + delay_ms or sent_at_of(m))
  else
    state = end_delivery(m, now, delay_ms < 0 and backoff_ms(m) or delay_ms, reason)
  end
  settle(m, state)
  return state
end
