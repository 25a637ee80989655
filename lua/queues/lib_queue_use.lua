-- From here on the queue is number i, from 0, of the queues in KEYS. Needs `queue_count`, `i` and
-- queues/lib_queue.lua.
if queue_count > 1 then
  queue_key, ready_key, delayed_key, flight_key, dead_key, ids_key, done_key, schedules_key,
    waiters_key, order_key, busy_key, groups_key, room_key = unpack(KEYS, i * 13 + 1, i * 13 + 13)
end
