-- queue_delivery_return: messages that were taken for somebody who had left: ready again, as if
-- they had not been received.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  three a message, as queue_message_receive told: sequence, nonce of its delivery, ''; or,
--       done already, sequence, record, body
-- Returns {how many went back, now_ms}. A delivery that is no longer current is left alone. Each is
-- due since it was sent: in front of what came later, at the latest where it was. Errors:
-- WRONGTYPE, nothing changed. O(messages * log(queue)).
--@include time wake queue queue_delivery
--@flags allow-oom
local queue = this_queue()
local reply = { 0, now }

-- The message of a record that is done; its id is its own again, unless another message has it by
-- now.
local function brought_back(seq, record, body)
  local m = parse_record(seq, record)
  if m.id ~= '' and (read('HGET', ids_key, m.id) or '') ~= '' then
    m.id = ''
  elseif m.id ~= '' then
    zrem(done_key, m.id)
    hset(ids_key, m.id, seq)
  end
  hset(body_key, seq, body)
  return m
end

for i = 1, #ARGV, 3 do
  local seq, proof = ARGV[i], ARGV[i + 1]
  local is_done = proof:find('\t', 1, true)
  local m = is_done and brought_back(seq, proof, ARGV[i + 2]) or not is_done and current_delivery(seq, proof)
  if m then
    m.receives, m.nonce, m.at = m.receives - 1, '', m.sent_at
    move(m, due_key(m.priority))
    announce(queue, m.at)
    reply[1] = reply[1] + 1
  end
end
commit()
return reply
