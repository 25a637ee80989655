-- queue_turn: the turn of a worker: acknowledges deliveries, then receives.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 queue_delivery_acknowledge, or queue_delivery_settle; 2 how many arguments it has; these;
--       then the arguments of queue_message_receive
--@reply 0..: more int, look_at_ms int, acknowledged int, outcomes text,
-- deliveries [queue_delivery]...
-- acknowledged is how many acknowledgements had an effect. outcomes has a digit for each delivery,
-- as queue_delivery_settle returns it. The others are as queue_message_receive returns them.
-- Errors: WRONGTYPE. The deliveries may have ended; acknowledging them again is harmless.
--@flags allow-oom
--@steps
local ends, last = ARGV[1], ARGV[2] + 2
steps = { { ends, unpack(ARGV, 3, last) }, { 'queue_message_receive', unpack(ARGV, last + 1) } }
--@operation
local ended, received = replies[1], replies[2]
local acknowledged, outcomes = ended[1], table.concat(ended, '', 3)
if not ended[3] then -- of queue_delivery_acknowledge: repeated, stale, cancelled
  acknowledged, outcomes = math.max(ended[1], 0), ended[1] >= 0 and '1' or ended[1] == -1 and '0' or '4'
end
table.insert(received, 5, acknowledged)
table.insert(received, 6, outcomes)
reply = received
