-- The delivery that a receipt names: whether it is current, and its end without an acknowledgement.

-- end_cancelled(m): plans that the delivery of a cancelled message ends, since its worker learns of
-- the cancellation. The end is remembered for 150 s, as an acknowledgement is.
local function end_cancelled(m)
  local remembered_until = format('%d', now + REMEMBERED_MS)
  plan('ZADD', keys[FLIGHT], '-' .. remembered_until, m.member)
  plan('HSET', keys[QUEUE], m.seq .. 's', m.nonce .. remembered_until .. 'dc')
  unmark(m)
  queue.makes_room = true
end

-- current_delivery(seq, nonce, state): the message, if its delivery is current: it was not
-- acknowledged, returned or delivered again, and its visibility has not ended. Otherwise returns
-- nil, and true if the message was cancelled; it then plans that the delivery ends. `state` is the
-- stored state.
local function current_delivery(seq, nonce, state)
  if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
    return nil
  elseif state:sub(30, 30) == 'd' then
    return nil, state:sub(31, 31) == 'c'
  end
  local m = read_state(state)
  m.seq, m.place, m.at = seq, keys[FLIGHT], tonumber(m.ends)
  m.member = flight_member(m)
  if has_mark(m, 'c') then
    end_cancelled(m)
    return nil, true
  end
  return m
end

-- uncount(m, at): makes the message as if this delivery had not begun: it does not count. The
-- message is due at `at`. Returns 'due', or 'expired' if it is past its ttl by then.
local function uncount(m, at)
  clear_delivery(m)
  m.receives, m.worker, m.at = m.receives - 1, '', at
  return is_past_ttl(m) and 'expired' or 'due'
end

-- sent_at_of(m): when a message was sent. If the content is long, the instant is computed from the
-- sequence, so that the content need not be read. The two may differ for the last messages of a
-- batch.
local function sent_at_of(m)
  local content = m.size ~= 'b' and redis.call('HGET', keys[QUEUE], m.seq)
  return content and read_header(content).sent_at or math.min(math.floor(m.seq / 1000), now)
end

-- give_back(m, delay_ms, reason, kind): plans that a current delivery ends without an
-- acknowledgement. Its message is due again after delay_ms (below 0: the queue's backoff), dead if
-- it was delivered often enough, or dropped if it will be past its ttl by then. With `kind` '1' it
-- is dead at once. With '2' the delivery does not count, so its message never becomes dead. Without
-- a delay, the due time of the message is the time at which it was sent, so it precedes messages
-- that were sent later. Else `kind` is '0'. Returns 'due', 'dead' or 'expired'; m.at is then
-- due_ms, died_at_ms or 0.
local function give_back(m, delay_ms, reason, kind)
  local state
  if kind ~= '2' then
    note_failure(m, 'rejected')
  end
  if kind == '1' then
    state = 'dead'
    die(m, now, reason)
  elseif is_expired(m) then
    state = 'expired'
  elseif kind == '2' then
    state = uncount(m, delay_ms > 0 and now + delay_ms or sent_at_of(m))
  else
    state = end_delivery(m, now, delay_ms < 0 and backoff_ms(m) or delay_ms, reason)
  end
  if state == 'expired' then
    m.at = 0
  end
  settle(m, state)
  return state
end
