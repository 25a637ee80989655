-- lock_leave: for a waiter or a new holder that disconnected: removes its ticket from the wait
-- queues, and releases what its token holds.
-- KEYS  three per lock: the lock, its readers, its waiters, as for lock_release
-- ARGV  1 ticket, '' for none; 2 hash of the token by which the last attempt may have acquired the
--       locks, '' for none
--@reply 1
-- Errors: WRONGTYPE, nothing done. O(locks), O(waiters) when a daemon with waiters has died.
--@flags allow-oom
local ticket, token_hash = ARGV[1], ARGV[2]
local names = {}
for i = 1, #KEYS, 3 do
  local lock = lock_read(KEYS[i], KEYS[i + 1], now)
  names[#names + 1] = {
    lock = lock, waiters = waiters_read(KEYS[i], KEYS[i + 2], now, ticket),
    grant = lock and token_hash ~= '' and lock_grant_of(lock, token_hash),
  }
end
for _, n in ipairs(names) do
  waiters_settle(n.waiters)
  if n.lock then
    lock_settle(n.lock)
  end
  if ticket ~= '' then
    waiters_leave(n.waiters)
  end
  local is_held = n.lock
  if n.grant then
    is_held = select(2, lock_drop(n.lock, n.grant, token_hash))
  end
  lock_serve(is_held and n.lock or nil, n.waiters)
end
return { 1, now }
