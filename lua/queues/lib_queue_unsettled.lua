-- is_unsettled(): whether queue_settle has work to do before a script reads the queue: an instant
-- has passed, and no receive has come since. This part only reads. Needs queues/lib_queue.lua and
-- queues/schedules/lib_queue_schedule.lua.
local function is_unsettled()
  return is_schedule_due() or redis.call('ZCOUNT', delayed_key, '-inf', instant) > 0
    or redis.call('ZCOUNT', flight_key, '0', instant) > 0
    or redis.call('ZCOUNT', groups_key, '-' .. instant, instant) > 0
end
