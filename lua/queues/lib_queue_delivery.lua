-- The delivery that a receipt names. Wants queues/lib_queue.lua.

-- Returns its message when the delivery is current: not acknowledged, not returned, not delivered
-- again, and its visibility has not ended. Otherwise nil.
local function current_delivery(seq, nonce)
  local text = read('HGET', meta_key, seq)
  if not text then
    return nil
  end
  local m = parse_record(seq, text)
  m.place = flight_key
  m.at = tonumber(read('ZSCORE', flight_key, seq))
  if m.nonce ~= nonce or not m.at or m.at <= now then
    return nil
  end
  return m
end

-- Plans that a current delivery failed: its message is due again after delay_ms (below 0: the
-- queue's backoff), dead when it was delivered often enough or is_dead says so, or dropped when it
-- is past its ttl. Returns 'due', 'dead' or 'expired'; m.at is then due_ms, died_at_ms or 0. Count
-- what was dropped: count_expired().
local function give_back(queue, m, delay_ms, reason, is_dead)
  local state
  if is_dead then
    state = 'dead'
    die(m, now, reason)
  elseif is_expired(m) then
    state = 'expired'
    m.at = 0
  else
    state = end_delivery(queue, m, now, delay_ms < 0 and backoff_ms(queue, m) or delay_ms, reason)
  end
  settle(queue, m, state)
  return state
end
