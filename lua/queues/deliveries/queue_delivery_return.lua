-- queue_delivery_return: for a client that disconnected: the messages that were received for it are
-- ready again, as if they had not been received.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/made.lua)
-- ARGV  three per message, as queue_message_receive returned them: sequence, stored_state, ''; for
--       a delivery that is done already sequence, stored_state, content. Then, for messages that
--       were not paid for, for how many ms the queue is held: it hands out nothing until then
--@reply 0..
-- The outcome is how many messages were returned. A delivery that is no longer current is left
-- alone; the delivery of a cancelled message ends. Each message is due since it was sent, before
-- messages that came later.
-- Errors: WRONGTYPE, nothing changed. O(messages * log(queue)).
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
if reply[1] > 0 then -- also for a queue that was deleted
  made = { keys[QUEUE] }
end
return reply
