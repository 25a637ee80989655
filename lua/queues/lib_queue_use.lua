-- From here on the queue is number i, from 0, of those in KEYS. Wants queues/lib_queue.lua.
if queue_count > 1 then
  queue_key, ready_key, delayed_key, flight_key, dead_key, ids_key, done_key, schedules_key =
    unpack(KEYS, i * 8 + 1, i * 8 + 8)
end
