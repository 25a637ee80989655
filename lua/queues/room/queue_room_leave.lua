-- queue_room_leave: removes the ticket of a sender that disconnected while it waited for room.
-- KEYS  1 the wait queue of room (queues/room/lib_queue_room.lua)
-- ARGV  1 ticket (lib/waiters.lua), 2 ''
--@reply 1
-- A sender that was called passes its turn on to the next one.
-- Errors: WRONGTYPE, nothing changed. O(log waiters), O(waiters) when a daemon with waiters has
-- died.
--@flags allow-oom
local ticket = ARGV[1]
local w = waiters_read(KEYS[1], KEYS[1], now, ticket)
waiters_settle(w)
waiters_leave(w)
if w.is_called and w.head then
  waiters_offer(w)
end
waiters_watch(w, now) -- another waiter looks when room may come by time alone
return { 1, now }
