-- queue_delivery_settle: many deliveries end at once, each as queue_delivery_acknowledge or
-- queue_delivery_reject would end it, one after another. No result is stored:
-- queue_delivery_complete does that, while Redis has memory.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 how many are acknowledged, 2 how many have a result; then 2 for each that is
--       acknowledged: sequence, nonce; 3 for each that has a result: sequence, nonce, result; 5 for
--       each that is rejected: sequence, nonce, delay_ms, reason and kind, the arguments 3 to 5 of
--       queue_delivery_reject
--@reply 0..: outcomes int...
-- The outcome of the reply is how many deliveries had an effect. outcomes are in the order of ARGV:
-- 1 acknowledged (also when this delivery was acknowledged within the last 150 s), 2 rejected, 3
-- acknowledged, and its result is kept, 4 cancelled: its message was cancelled meanwhile, and is
-- gone, 0 no longer current. One that is no longer current does not stop the others.
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
