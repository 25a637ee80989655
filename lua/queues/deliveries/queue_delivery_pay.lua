-- queue_delivery_pay: decides what a policy admitted of a receive with an Idempotency-Key, once for
-- all requests that are answered from its record. The other messages are ready again, as if they
-- had not been received.
-- KEYS  the keys of a queue (queues/lib_queue.lua), the record of that receive
--       (lib/record.lua), the index of names (lib/made.lua)
-- ARGV  1 the queue's number among the queues of the receive, from 0, 2 nonce of its deliveries, 3
--       for how many ms the queue is held; '' if all messages were admitted; then the sequences of
--       the admitted ones
--@reply 0..: sequence text...
-- The outcome is how many messages were returned. The sequences in the reply may be handed out. The
-- first call decides, and leaves only these in the record, without the row of the policy. A later
-- call returns the same sequences, whichever ones it names. If the record is not about these
-- deliveries any more, the reply has no sequences, and nothing is changed: all of them were
-- returned, or the record has expired.
-- Errors: WRONGTYPE, nothing changed. O(messages * log(queue)).
--@flags allow-oom
local number, nonce, hold_ms = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local is_admitted = {}
for k = 4, #ARGV do
  is_admitted[ARGV[k]] = true
end
local record_key = KEYS[14]
local record = redis.call('GET', record_key)
local received, proof
if record then
  received, proof = cmsgpack.unpack(record:sub(65))
end
if not received or received[5][3]:sub(1, 16) ~= nonce then
  return { 0, now }
end
local is_decided = true
for k = 5, #received do
  local row = received[k]
  is_decided = is_decided and not (row[1] == '' and row[5] == number)
end

local reply, kept = { 0, now }, { 0, received[2], 0, -1 }
for k = 5, #received do
  local row = received[k]
  local seq, is_own = row[1], row[5] == number
  local stays = not is_own or is_decided or is_admitted[seq]
  if stays then
    kept[#kept + 1] = row
    kept[1] = kept[1] + (seq ~= '' and 1 or 0)
  elseif seq ~= '' and bring_back(seq, row[3], row[4] == 0 and row[2] or '') then
    reply[1] = reply[1] + 1
  end
  if stays and is_own then
    reply[#reply + 1] = seq
  end
end
if is_decided then
  return reply
end
if hold_ms ~= '' then
  hold_queue(hold_ms)
end
commit()
if kept[1] > 0 then
  redis.call('SET', record_key, record:sub(1, 64) .. cmsgpack.pack(kept, proof), 'KEEPTTL')
else
  redis.call('DEL', record_key)
end
if reply[1] > 0 then
  made = { keys[QUEUE] }
end
return reply
