-- Clients that wait for a value, or for the ticket to make it. There are none while there is a
-- value. Wants lib/waiters.lua.
-- cache_serve(waiters, ends_at): after any change. When no ticket is out (ends_at is nil) the first
-- waiter is called to get one; else one looks when the ticket expires (-1: never). O(log waiters).
local function cache_serve(waiters, ends_at)
  if not ends_at and waiters.head and not waiters.called[1] then
    waiters_offer(waiters)
  end
  -- Redis removes a key after its last instant, not at it.
  waiters_watch(waiters, ends_at and ends_at >= 0 and ends_at + 1 or math.huge)
end
