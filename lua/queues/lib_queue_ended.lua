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

-- The delay before another try: base * 2^(receives - 1), at most max; 0 when the queue has no
-- backoff.
local function backoff_ms(m)
  local base = setting('backoff_base_ms')
  if base == 0 then
    return 0
  end
  return math.min(base * 2 ^ (m.receives - 1), math.max(base, setting('backoff_max_ms')))
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

-- At most `limit` deliveries whose visibility has ended and that no script has settled yet, oldest
-- first. Each is a message as it will be once settled, with `state` 'due', 'dead' or 'expired' and
-- `at` accordingly; its place is still the flight. What a look shows and what a settling writes is
-- so the same.
local function ended_deliveries(limit)
  local list = {}
  local flat = redis.call('ZRANGE', flight_key, '0', instant, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  if not flat[1] then
    return list
  end
  local fields = {}
  for i = 1, #flat, 2 do
    fields[#fields + 1] = flat[i]
  end
  for i, state in ipairs(redis.call('HMGET', queue_key, unpack(fields))) do
    local m = state and read_state(state) or { lost = true }
    m.seq, m.at, m.place, m.member = fields[i]:sub(1, 16), tonumber(flat[2 * i]), flight_key, fields[i]
    m.state = m.lost and 'expired' or end_visibility(m)
    list[i] = m
  end
  return list
end
