-- queue_delivery_acknowledge: a delivery is done; its message is gone, its id is remembered for
-- dedupe_ms.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: what a receipt says of its delivery
-- Returns {1, now_ms}; {0, now_ms} when this delivery was acknowledged within the last minute; {-1,
-- now_ms} when it is no longer current: its message was delivered again, returned or removed, or
-- its visibility ended.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time wake queue queue_delivery queue_done
--@flags allow-oom
local seq, nonce = unpack(ARGV)
local m = current_delivery(seq, nonce)
if not m then
  return { was_acknowledged(seq, nonce) and 0 or -1, now }
end
acknowledge({ key = queue_key }, m)
commit()
return { 1, now }
