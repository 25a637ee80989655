-- queue_settle: many deliveries end at once, each as queue_acknowledge or queue_reject would end it, one after another.
-- KEYS  the queue's (lib/queue.lua)
-- ARGV  1 how many are done, then 2 for each of those: sequence, nonce; then 3 for each that is rejected: sequence,
--       nonce, delay_ms (-1: the queue's backoff)
-- Returns {how many had an effect, now_ms, outcome of each in that order}: 1 done (also when its message was gone
-- already), 2 rejected, 0 stale. One that is stale does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time wake queue queue_delivery queue_done
--@flags allow-oom
--@idempotent
local DONE, REJECTED, STALE = 1, 2, 0
local queue = this_queue()
local reply = { 0, now }
-- What has ended in this call: to whether its message is gone. Nothing is written yet, so Redis does not know.
local ended = {}

local function current(seq, nonce)
  if ended[seq] ~= nil then
    return nil, ended[seq]
  end
  return current_delivery(seq, nonce)
end
local function ends(m, is_gone, outcome)
  ended[m.seq] = is_gone
  reply[1] = reply[1] + 1
  reply[#reply + 1] = outcome
end

local first_rejected = 2 + 2 * tonumber(ARGV[1])
for i = 2, first_rejected - 1, 2 do
  local m, is_gone = current(ARGV[i], ARGV[i + 1])
  if m then
    finish(queue, m)
    ends(m, true, DONE)
  else
    reply[#reply + 1] = is_gone and DONE or STALE
  end
end
for i = first_rejected, #ARGV, 3 do
  local m = current(ARGV[i], ARGV[i + 1])
  if m then
    local state = give_back(queue, m, tonumber(ARGV[i + 2]), 'rejected', false)
    ends(m, state == 'expired', REJECTED)
  else
    reply[#reply + 1] = STALE
  end
end
count_expired(queue)
commit()
return reply
