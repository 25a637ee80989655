-- queue_delivery_reject: ends a current delivery that failed, or that did not begin and so does not
-- count. Its message is due again, dead when it was delivered often enough, or dropped when it is
-- past its ttl.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: the halves of the receipt, 3 delay_ms (-1: the queue's backoff), 4
--       reason ('': not given), 5 '0'; '1': the message is dead at once; '2': the delivery does not
--       count, so it has no backoff, and its reason is not kept; 6 'late': as for
--       queue_delivery_acknowledge
--@reply 1: id text, is_dead int, at_ms int
--@reply -1 stale, -2 cancelled
-- is_dead is 1 if the message is dead, 2 if the queue then has a dead_letter_queue, else 0. at_ms
-- is died_at_ms, or due_ms (0: dropped). stale: the delivery is no longer current. cancelled: its
-- message was cancelled, and is gone.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
--@idempotent
local seq, nonce, delay_ms, reason, kind, late = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
if late then
  recall(seq, nonce, false)
end
local m, is_cancelled = current_delivery(seq, nonce, redis.call('HGET', keys[QUEUE], seq .. 's'))
if not m then
  commit()
  return { is_cancelled and -2 or -1, now }
end
local state = give_back(m, delay_ms, reason ~= '' and reason or 'rejected', kind)
commit()
return { 1, now, id_of(m), state == 'dead' and (queue.moves and 2 or 1) or 0, m.at }
