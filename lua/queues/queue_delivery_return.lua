-- queue_delivery_return: messages that were taken for a client that had left: ready again, as if
-- they had not been received.
-- KEYS  the queue's (queues/lib_queue.lua), and the index of names (lib/names.lua)
-- ARGV  three a message, as queue_message_receive returned them: sequence, stored_state, ''; or,
--       done already, sequence, stored_state, content. Behind them, for messages that were not paid
--       for: how long the queue is held, ms: it hands out nothing until then
--@reply 0..
-- The outcome is how many went back. A delivery that is no longer current is left alone, one of a
-- cancelled message ends. Each is
-- due since it was sent: in front of what came later, at the latest where it was.
-- Errors: WRONGTYPE, nothing changed. O(messages * log(queue)).
--@include time names queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_delivery
--@flags allow-oom
local reply = { 0, now }

-- The message of a content and a state that were removed; its id is its own again, unless another
-- message has it by now.
local function brought_back(seq, state, content)
  local m, header = read_state(state), read_header(content)
  m.seq, m.sent_at = seq, header.sent_at
  local holder = m.id ~= '' and redis.call('HGET', ids_key, m.id)
  if holder and holder ~= seq then
    m.id = ''
    content = content:gsub('^(%d+\t%d+\t%d+\t)[^\t\n]*', '%1', 1)
  elseif m.id ~= '' then
    plan('ZREM', done_key, m.id)
    plan('HSET', ids_key, m.id, seq)
  end
  plan('HSET', queue_key, seq, content)
  plan('ZREM', flight_key, flight_member(m)) -- where it was done, in a queue with result_ms
  plan('HSET', queue_key, 'layout', '1') -- the queue may have been deleted meanwhile
  return m
end

local function still_delivered(seq, nonce)
  local stored = redis.call('HMGET', queue_key, seq, seq .. 's')
  local m = current_delivery(seq, nonce, stored[2])
  m = stored[1] and m
  if m then
    m.sent_at = read_header(stored[1]).sent_at
  end
  return m
end

for i = 1, #ARGV - 2, 3 do
  local seq, state, content = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local m
  if content ~= '' then
    m = brought_back(seq, state, content)
  else
    m = still_delivered(seq, state:sub(1, 16))
  end
  if m then
    uncount(m, m.sent_at)
    put_due(m)
    reply[1] = reply[1] + 1
  end
end
if #ARGV % 3 == 1 and (reply[1] > 0 or redis.call('EXISTS', queue_key) == 1) then
  plan('HSET', queue_key, 'held_until', digits(now + tonumber(ARGV[#ARGV])))
end
commit()
if reply[1] > 0 then -- of a queue that was deleted meanwhile, too
  name_made(queue_key)
end
return reply
