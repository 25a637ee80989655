-- The order of clients that wait for a value, or for the ticket to make it. No client waits while
-- there is a value.
-- cache_serve(waiters, ends_at): without a valid ticket (ends_at is nil) calls the first waiter to
-- get one; else makes a waiter look when the ticket expires (-1: it never does). Call it after any
-- change. O(log waiters).
local function cache_serve(waiters, ends_at)
  if not ends_at and waiters.head and not waiters.called[1] then
    waiters_offer(waiters)
  end
  -- Redis removes a key after its last instant, not at it.
  waiters_watch(waiters, ends_at and ends_at >= 0 and ends_at + 1 or math.huge)
end
