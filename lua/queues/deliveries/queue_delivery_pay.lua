-- queue_delivery_pay: what a policy admitted of a receive with an Idempotency-Key, decided once for
-- all requests that are answered by its record: the rest is ready again, as if it had not been
-- received.
-- KEYS  the queue's (queues/lib_queue.lua), the record of that receive (lib/idempotency.lua), the
--       index of names (lib/names.lua)
-- ARGV  1 the queue's number among those of the receive, from 0, 2 nonce of its deliveries, 3 how
--       long the queue is held, ms; '' if all was admitted; behind them the sequences that were
--@reply 0..: sequence text...
-- The outcome is how many went back. The sequences are those that may be handed out. The first call
-- decides, and leaves only them in the record, without the row of the policy; a later call gets the
-- same, whatever it was admitted. There are none, and nothing is changed, if the record is not of
-- these deliveries any more: all of them went back, or it has expired.
-- Errors: WRONGTYPE, nothing changed. O(messages * log(queue)).
--@include time names queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_delivery queue_return
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
  name_made(queue_key)
end
return reply
