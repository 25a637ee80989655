-- queue_settle: settles what time has ended, and delivers nothing: the work of a receive that takes
-- no message.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 settled, 0 nothing
-- It settles at most 250 deliveries whose visibility ended, moves at most 500 messages that came
-- due, drops at most 250 messages past their ttl, looks at 100 groups whose hold has ended, and
-- makes the messages of schedules that came due (50) unless the queue is paused.
-- Errors: WRONGTYPE, nothing changed. O(1000 * log(queue)).
check_types()
read_waiters()
local count = settle_time('250', true)
local is_due = pause_end(redis.call('HGET', keys[QUEUE], 'paused')) <= now
  and redis.call('ZCOUNT', keys[SCHEDULES], '-inf', instant) > 0
if is_due then
  fire_due()
end
serve_waiters()
return { (is_due or count > 0) and 1 or 0, now }
