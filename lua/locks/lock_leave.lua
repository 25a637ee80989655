-- lock_leave: for a waiter or a new holder that disconnected: removes its ticket from the wait
-- queues, and releases what its token holds.
-- KEYS  three per lock: the lock, its readers, its waiters, as for lock_release
-- ARGV  1 ticket, '' for none; 2 hash of the token by which the last attempt may have acquired the
--       locks, '' for none
--@reply 1
-- Errors: WRONGTYPE, nothing done. O(locks), O(waiters) when a daemon with waiters has died.
--@flags allow-oom
local names = {}
for i = 1, #KEYS, 3 do
  local lock = lock_read(KEYS[i], KEYS[i + 1], now)
  names[#names + 1] = {
    lock = lock, waiters = waiters_read(KEYS[i], KEYS[i + 2], now, ARGV[1]),
    grant = lock and ARGV[2] ~= '' and lock_grant_of(lock, ARGV[2]),
  }
end
for _, n in ipairs(names) do
  waiters_settle(n.waiters)
  if n.lock then
    lock_settle(n.lock)
  end
  if ARGV[1] ~= '' then
    waiters_leave(n.waiters)
  end
  local is_held = n.lock
  if n.grant then
    is_held = select(2, lock_drop(n.lock, n.grant, ARGV[2]))
  end
  lock_serve(is_held and n.lock or nil, n.waiters)
end
return { 1, now }
