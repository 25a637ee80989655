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
--@include queue_ended queue_delivery queue_return
--@flags allow-oom
local reply = { 0, now }

for i = 1, #ARGV - 2, 3 do
  if bring_back(ARGV[i], ARGV[i + 1], ARGV[i + 2]) then
    reply[1] = reply[1] + 1
  end
end
if #ARGV % 3 == 1 then
  hold_queue(ARGV[#ARGV])
end
commit()
if reply[1] > 0 then -- of a queue that was deleted meanwhile, too
  name_made(queue_key)
end
return reply
