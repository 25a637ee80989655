-- queue_leave: removes the ticket of a client that disconnected from the wait queues of queues.
-- KEYS  the keys of one queue (queues/lib_queue.lua) or of several
-- ARGV  1 ticket (lib/waiters.lua), 2 ''
--@reply 1
-- Errors: WRONGTYPE, nothing changed. O(queues * log waiters), O(waiters) when a daemon with
-- waiters has died.
--@include time queue waiters queue_serve
--@flags allow-oom
local queue_count, queues = #KEYS / 13, {}
for i = 0, queue_count - 1 do
--@include queue_use queue_types
  check_types()
  queues[i] = waiters_read(queue_key, waiters_key, now, ARGV[1])
end
for i = 0, queue_count - 1 do
--@include queue_use
  local w = queues[i]
  waiters_settle(w)
  waiters_leave(w)
  serve(w)
end
return { 1, now }
