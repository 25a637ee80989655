-- queue_delivery_settle: ends many deliveries, each as queue_delivery_acknowledge or
-- queue_delivery_reject would, one after another. It stores no results: queue_delivery_complete
-- does, while Redis has memory.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 how many are acknowledged, 2 how many have a result; then for each acknowledged delivery
--       sequence, nonce; for each with a result sequence, nonce, result; for each rejected one
--       sequence, nonce, delay_ms, reason and kind, the arguments 3 to 5 of queue_delivery_reject
--@reply 0..: outcomes int...
-- The outcome of the reply is how many deliveries had an effect. outcomes are in the order of ARGV:
-- 1 acknowledged (also when this delivery was acknowledged within the last 150 s); 2 rejected; 3
-- acknowledged, and its result is kept; 4 cancelled: its message was cancelled, and is gone; 0 no
-- longer current. A delivery that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@include time queue queue_settle_look
--@flags allow-oom
--@idempotent
do
--@include queue_settle_plain
end
--@otherwise queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_delivery queue_done
local stores_results = false
--@include queue_settle
