-- queue_leave: removes the ticket of a client that disconnected from the wait queues of queues.
-- KEYS  the keys of one queue (queues/lib_queue.lua) or of several
-- ARGV  1 ticket (lib/waiters.lua), 2 ''
--@reply 1
-- Errors: WRONGTYPE, nothing changed. O(queues * log waiters), O(waiters) when a daemon with
-- waiters has died.
--@flags allow-oom
local ticket = ARGV[1]
local last, queues = #KEYS / QUEUE_KEYS - 1, {}
for i = 0, last do
  queue_use(i)
  check_types()
  queues[i] = waiters_read(keys[QUEUE], keys[WAITERS], now, ticket)
end
for i = 0, last do
  queue_use(i)
  local w = queues[i]
  waiters_settle(w)
  waiters_leave(w)
  serve(w)
end
return { 1, now }
