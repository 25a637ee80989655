-- From here on the queue is number i, from 0, of those in KEYS. Wants queues/lib_queue.lua.
if queue_count > 1 then
  queue_key, ready_key, delayed_key, flight_key, dead_key, ids_key, done_key = unpack(KEYS, i * 7 + 1, i * 7 + 7)
end
