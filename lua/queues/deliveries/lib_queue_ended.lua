-- What becomes of deliveries that ended without an acknowledgement. This module must not know
-- whether the script only reads, so that a read and a write agree on the outcome.

-- end_delivery(m, ended_at, delay_ms, reason): changes a message whose delivery ended at
-- `ended_at`, but not its place. Returns where it belongs: 'due', 'expired' if it will be past its
-- ttl when it is due, or 'dead' when it was delivered often enough.
local function end_delivery(m, ended_at, delay_ms, reason)
  local most = m.max_receives > 0 and m.max_receives or setting('max_receives')
  if m.receives >= most then
    die(m, ended_at, reason .. '; max_receives')
    return 'dead'
  end
  note_first(m)
  clear_delivery(m)
  m.reason, m.at = reason, ended_at + delay_ms
  return is_past_ttl(m) and 'expired' or 'due'
end

-- backoff_ms(m): the delay before another try. The full delay is base * 2^(receives - 1), at most
-- max. Both are the message's, or else the queue's; a base above the queue's max is also the max.
-- The delay is random, from half of the full delay to all of it ("Equal Jitter" of M. Brooker,
-- "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). The random number is made of the
-- nonce and the sequence of the delivery that failed (Knuth's multiplicative hash: a batch has one
-- nonce). So a script that only reads computes the same delay as the script that settles the
-- delivery. It doubles at most 40 times: a message that is never dead may have any receives, and 0
-- times infinity is not a number.
local function backoff_ms(m)
  local base, most = m.backoff:match('^(%d*):(%d*)$')
  base = tonumber(base or '') or setting('backoff_base_ms')
  most = tonumber(most or '') or math.max(setting('backoff_max_ms'), base)
  local whole = math.min(base * 2 ^ math.min(m.receives - 1, 40), most)
  local random = ((tonumber(m.nonce:sub(-8), 16) or 0) + m.seq:sub(-6) * 2654435761) % 4294967296
  return math.ceil(whole * (0.5 + random / 8589934592))
end

-- late_mark(nonce): what a state keeps of a nonce in its visible_until_ms, for receipts that count
-- late: a 0, the last 4 digits of its seconds, and its random part, as 8 digits. So it is before
-- every instant, and for an older daemon the same as NO_END. NO_END for a nonce of an older daemon.
local function late_mark(nonce)
  local seconds, random = nonce:match('^%d%d%d%d%d%d(%d%d%d%d)(%x%x%x%x%x%x)$')
  return seconds and '0' .. seconds .. format('%08d', tonumber(random, 16)) or NO_END
end

-- end_visibility(m): as end_delivery, for a delivery whose visibility ended at m.at; 'expired' when
-- the message was past its ttl by then. The state keeps a mark of the nonce.
local function end_visibility(m)
  if m.expires_at > 0 and m.expires_at <= m.at then
    return 'expired'
  end
  local mark = late_mark(m.nonce)
  local state = end_delivery(m, m.at, backoff_ms(m), 'visibility expired')
  m.ends = mark
  return state
end

-- ended_delivery(member, state, ended_at): a delivery whose visibility has ended and that no script
-- has settled yet, as the message that it will be. `state` is 'due', 'dead' or 'expired', and `at`
-- accordingly; its place is still the flight.
local function ended_delivery(member, state, ended_at)
  local m = state and read_state(state) or { lost = true, group = member:sub(18) }
  m.lost = m.lost or has_mark(m, 'c')
  m.seq, m.at, m.place, m.member = member:sub(1, 16), ended_at, keys[FLIGHT], member
  m.state = m.lost and 'expired' or end_visibility(m)
  return m
end

-- ended_deliveries(limit): at most `limit` ended deliveries, oldest first.
local function ended_deliveries(limit)
  local list = {}
  local flat = redis.call('ZRANGE', keys[FLIGHT], '0', instant, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  if not flat[1] then
    return list
  end
  local fields = {}
  for i = 1, #flat, 2 do
    fields[#fields + 1] = flat[i]:sub(1, 17)
  end
  for i, state in ipairs(redis.call('HMGET', keys[QUEUE], unpack(fields))) do
    list[i] = ended_delivery(flat[2 * i - 1], state, tonumber(flat[2 * i]))
  end
  return list
end

-- settle_ended_delivery(m): plans what ended_delivery() returned.
local function settle_ended_delivery(m)
  if not m.lost then
    note_failure(m, 'timed_out')
  end
  settle(m, m.state)
end

-- drop_found(m): plans to drop a message that find() found expired. Its delivery may have timed
-- out.
local function drop_found(m)
  if m.place == keys[FLIGHT] then
    note_failure(m, 'timed_out')
  end
  drop(m)
end

-- plan_ended(limit): plans to settle at most `limit` ended deliveries, oldest first. Returns how
-- many.
local function plan_ended(limit)
  local ended = ended_deliveries(limit)
  for _, m in ipairs(ended) do
    settle_ended_delivery(m)
  end
  return #ended
end

-- settle_ended(limit, serves_later): as plan_ended, and writes the plan (commit).
local function settle_ended(limit, serves_later)
  local count = plan_ended(limit)
  commit(serves_later)
  return count
end

-- plan_message(seq, state): plans to settle the message of a sequence, if its delivery has ended.
-- Returns whether it has.
local function plan_message(seq, state)
  if not state or state:sub(1, 16) == NO_NONCE or state:sub(17, 29) > instant or state:sub(30, 30) == 'd' then
    return false
  end
  local m = ended_delivery(seq .. 's' .. read_state(state).group, state, tonumber(state:sub(17, 29)))
  settle_ended_delivery(m)
  return true
end
