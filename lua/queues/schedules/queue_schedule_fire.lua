-- queue_schedule_fire: makes the messages of the schedules that came due, as the next receive
-- would.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 made, 0 nothing
-- nothing: nothing was due, or the queue is paused.
-- Errors: WRONGTYPE, nothing changed. O(50 * log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_recurrence queue_schedule queue_leap queue_store queue_fire
if redis.call('HGET', queue_key, 'paused') == '1' or redis.call('ZCOUNT', schedules_key, '-inf', instant) == 0 then
  return { 0, now }
end
check_types()
read_waiters()
fire_due()
serve_waiters()
return { 1, now }
