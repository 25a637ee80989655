-- key_delete: removes a key, whatever it holds, and wakes the waiters of what it is a part of.
-- KEYS  1 any key; 2 the first key of what it may be a part of, 3 the waiters of that
--       (lib/waiters.lua): without a hash tag, neither
--@reply 1 removed, 0 absent
-- Errors: none. O(waiters); memory is freed in the background.
--@include time waiters
--@flags allow-oom
local now = now_ms()
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {0, now}
end
waiters_wake_all(KEYS[2], KEYS[3], 0) -- before: their wait queue may be what is removed
redis.call('UNLINK', KEYS[1])
return {1, now}
