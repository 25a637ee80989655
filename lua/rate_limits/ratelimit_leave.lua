-- ratelimit_leave: removes the ticket of a client that disconnected from the wait queues of limits.
-- The next waiter may take what it would have taken.
-- KEYS  two per limit: its state (rate_limits/lib_limit_*.lua), its waiters (lib/waiters.lua)
-- ARGV  1 ticket, 2 ''
--@reply 1
-- Errors: WRONGTYPE, nothing done. O(limits * log waiters), O(waiters) when a daemon with waiters
-- has died.
--@flags allow-oom
local ticket = ARGV[1]
local queues = {}
for i = 1, #KEYS, 2 do
  queues[#queues + 1] = waiters_read(KEYS[i], KEYS[i + 1], now, ticket)
end
for _, w in ipairs(queues) do
  local was_head = w.head == ticket
  waiters_settle(w)
  waiters_leave(w)
  if was_head then
    waiters_watch(w, now)
  end
end
return { 1, now }
