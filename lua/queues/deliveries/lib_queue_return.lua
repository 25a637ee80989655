-- Brings deliveries back, as if their messages had not been received.

-- brought_back(seq, state, content): plans to store a message again, from its content and state,
-- which were both removed, and returns the message. It gets its id again, unless another message
-- has the id by now.
local function brought_back(seq, state, content)
  local m, header = read_state(state), read_header(content)
  m.seq, m.sent_at = seq, header.sent_at
  local holder = m.id ~= '' and redis.call('HGET', keys[IDS], m.id)
  if holder and holder ~= seq then
    m.id = ''
    content = content:gsub('^(%d+\t%d+\t%d+\t)[^\t\n]*', '%1', 1)
  elseif m.id ~= '' then
    plan('ZREM', keys[DONE], m.id)
    plan('HSET', keys[IDS], m.id, seq)
  end
  plan('HSET', keys[QUEUE], seq, content)
  plan_ttl(m)
  plan('ZREM', keys[FLIGHT], flight_member(m)) -- where it was done, in a queue with result_ms
  plan('HSET', keys[QUEUE], 'layout', LAYOUT) -- the queue may have been deleted
  return m
end

local function still_delivered(seq, nonce)
  local stored = redis.call('HMGET', keys[QUEUE], seq, seq .. 's')
  local m = current_delivery(seq, nonce, stored[2])
  m = stored[1] and m
  if m then
    m.sent_at = read_header(stored[1]).sent_at
  end
  return m
end

-- bring_back(seq, state, content): plans that the message of a delivery is due since it was sent,
-- before messages that came later. `content` is given for a delivery that is done already, else ''.
-- Returns false, and changes nothing, when the delivery is not current.
local function bring_back(seq, state, content)
  local m
  if content ~= '' then
    m = brought_back(seq, state, content)
  else
    m = still_delivered(seq, state:sub(1, 16))
  end
  if not m then
    return false
  end
  settle(m, uncount(m, m.sent_at))
  return true
end

-- hold_queue(ms): plans that the queue, if it has a policy, hands out nothing for `ms`.
local function hold_queue(ms)
  check_types()
  if queue.rules and queue.rules.policy then
    plan('HSET', keys[QUEUE], 'held_until', format('%d', now + tonumber(ms)))
  end
end
