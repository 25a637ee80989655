-- lock_leave: somebody who waited, or was just given the locks, is there no more: out of the lines, and what the token
-- holds is given back.
-- KEYS  four a lock: the lock, its readers, its line and its offer, as of lock_release
-- ARGV  1 ticket, '' for none; 2 hash of the token that the latest try may have taken them with, '' for none
-- Returns {1, now}. Errors: WRONGTYPE, nothing done. O(locks), O(line) when a daemon with waiters has died.
--@include time wake line lock
--@flags allow-oom
local now = now_ms()
local names = {}
for i = 1, #KEYS, 4 do
  local lock = lock_read(KEYS[i], KEYS[i + 1], now)
  names[#names + 1] = {
    lock = lock, line = line_read(KEYS[i], KEYS[i + 2], KEYS[i + 3], now, ARGV[1]),
    grant = lock and ARGV[2] ~= '' and lock_grant_of(lock, ARGV[2]),
  }
end
for _, n in ipairs(names) do
  line_settle(n.line)
  if n.lock then
    lock_settle(n.lock)
  end
  if ARGV[1] ~= '' then
    line_leave(n.line, ARGV[1])
  end
  if n.grant then
    local was_until = n.lock.expires_at_ms
    if lock_drop(n.lock, n.grant, ARGV[2]) == 0 then
      n.lock = nil
    else
      lock_tell_end(n.lock, n.line.head, was_until)
    end
  end
  lock_offer(n.lock, n.line, now)
end
return {1, now}
