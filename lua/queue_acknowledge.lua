-- queue_acknowledge: a delivery is done; its message is gone, its id is remembered for dedupe_ms.
-- KEYS  the queue's (lib/queue.lua)
-- ARGV  1 sequence, 2 nonce: the halves of the receipt
-- Returns {1, now_ms}; {0, now_ms} when the message is gone already; {-1, now_ms} when the delivery is no longer
-- current: its message was delivered again, returned, or its visibility ended.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time wake queue queue_delivery queue_done
--@flags allow-oom
local m, is_gone = current_delivery(ARGV[1], ARGV[2])
if not m then
  return { is_gone and 0 or -1, now }
end
finish(this_queue(), m)
commit()
return { 1, now }
