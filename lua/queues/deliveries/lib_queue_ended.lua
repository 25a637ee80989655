-- Deliveries that ended without an acknowledgement. Wants queues/lib_queue_settings.lua and
-- queues/lib_queue_change.lua.

-- What a delivery that ended at `ended_at` makes of its message. Changes m, but not its place, and
-- returns where it belongs: 'due', or 'dead' when it was delivered often enough.
local function end_delivery(m, ended_at, delay_ms, reason)
  local most = m.max_receives > 0 and m.max_receives or setting('max_receives')
  if m.receives >= most then
    die(m, ended_at, reason .. '; max_receives')
    return 'dead'
  end
  clear_delivery(m)
  m.reason, m.at = reason, ended_at + delay_ms
  return 'due'
end

-- The delay before another try: base * 2^(receives - 1), at most max, each of the message or else
-- of the queue (a base above the queue's max is its own max), and of that a random part from the
-- half to the whole ("Equal Jitter" of M. Brooker, "Exponential Backoff And Jitter", AWS
-- Architecture Blog, 2015). The random number is of the delivery that failed, its nonce and
-- sequence (Knuth's multiplicative hash: a batch has one nonce), so that a look computes what a
-- settling writes.
local function backoff_ms(m)
  local base, most = m.backoff:match('^(%d*):(%d*)$')
  base = tonumber(base or '') or setting('backoff_base_ms')
  most = tonumber(most or '') or math.max(setting('backoff_max_ms'), base)
  local whole = math.min(base * 2 ^ (m.receives - 1), most)
  local random = ((tonumber(m.nonce:sub(-8), 16) or 0) + m.seq:sub(-6) * 2654435761) % 4294967296
  return math.ceil(whole * (0.5 + random / 8589934592))
end

-- The same for a delivery whose visibility has ended, at m.at; 'expired' when the message is past
-- its ttl by then.
local function end_visibility(m)
  if m.expires_at > 0 and m.expires_at <= m.at then
    return 'expired'
  end
  local state = end_delivery(m, m.at, backoff_ms(m), 'visibility expired')
  return state == 'due' and is_expired(m) and 'expired' or state
end

-- A delivery whose visibility has ended and that no script has settled yet, as the message that it
-- will be once settled: `state` is 'due', 'dead' or 'expired', and `at` accordingly; its place is
-- still the flight. What a look shows and what a settling writes is so the same.
local function ended_delivery(member, state, ended_at)
  local m = state and read_state(state) or { lost = true, group = member:sub(18) }
  m.lost = m.lost or has_mark(m, 'c')
  m.seq, m.at, m.place, m.member = member:sub(1, 16), ended_at, flight_key, member
  m.state = m.lost and 'expired' or end_visibility(m)
  return m
end

-- At most `limit` of them, oldest first.
local function ended_deliveries(limit)
  local list = {}
  local flat = redis.call('ZRANGE', flight_key, '0', instant, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  if not flat[1] then
    return list
  end
  local fields = {}
  for i = 1, #flat, 2 do
    fields[#fields + 1] = flat[i]:sub(1, 17)
  end
  for i, state in ipairs(redis.call('HMGET', queue_key, unpack(fields))) do
    list[i] = ended_delivery(flat[2 * i - 1], state, tonumber(flat[2 * i]))
  end
  return list
end

-- Plans to settle them: at most `limit`, oldest first. Returns how many. Wants
-- queues/lib_queue_plan.lua.
local function plan_ended(limit)
  local ended = ended_deliveries(limit)
  for _, m in ipairs(ended) do
    settle(m, m.state)
  end
  return #ended
end

-- Settles them.
local function settle_ended(limit, serves_later)
  local count = plan_ended(limit)
  commit(serves_later)
  return count
end

-- Plans the same for the message of a sequence, if its delivery has ended. True when it had.
local function plan_message(seq, state)
  if not state or state:sub(1, 16) == NO_NONCE or state:sub(17, 29) > instant or state:sub(30, 30) == 'd' then
    return false
  end
  local m = ended_delivery(seq .. 's' .. read_state(state).group, state, tonumber(state:sub(17, 29)))
  settle(m, m.state)
  return true
end
