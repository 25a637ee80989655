-- queue_delivery_settle: many deliveries end at once, each as queue_delivery_acknowledge or
-- queue_delivery_reject would end it, one after another.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 how many are done, then 2 for each of those: sequence, nonce; then 3 for each that is
--       rejected: sequence, nonce, delay_ms (-1: the queue's backoff)
-- Returns {how many had an effect, now_ms, outcome of each in that order}: 1 done (also when this
-- delivery was acknowledged within the last minute), 2 rejected, 0 stale. One that is stale does
-- not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time wake queue queue_delivery queue_done
--@flags allow-oom
--@idempotent
local DONE, REJECTED, STALE = 1, 2, 0
local queue = this_queue()
local reply = { 0, now }
-- Sequence to nonce of each delivery that has ended in this call. Nothing is written yet, so Redis
-- does not know.
local ended = {}

local function current(seq, nonce)
  return not ended[seq] and current_delivery(seq, nonce)
end
local function ends(m, nonce, outcome)
  ended[m.seq] = nonce
  reply[1] = reply[1] + 1
  reply[#reply + 1] = outcome
end

local first_rejected = 2 + 2 * tonumber(ARGV[1])
for i = 2, first_rejected - 1, 2 do
  local seq, nonce = ARGV[i], ARGV[i + 1]
  local m = current(seq, nonce)
  if m then
    acknowledge(queue, m)
    ends(m, nonce, DONE)
  else
    reply[#reply + 1] = (ended[seq] == nonce or was_acknowledged(seq, nonce)) and DONE or STALE
  end
end
for i = first_rejected, #ARGV, 3 do
  local seq, nonce = ARGV[i], ARGV[i + 1]
  local m = current(seq, nonce)
  if m then
    give_back(queue, m, tonumber(ARGV[i + 2]), 'rejected', false)
    ends(m, nonce, REJECTED)
  else
    reply[#reply + 1] = STALE
  end
end
count_expired(queue)
commit()
return reply
