-- key_delete: removes a key of any type, and wakes the waiters of the resource that it is a part
-- of.
-- KEYS  1 any key; 2 the first key of the resource that it may be a part of, 3 the waiters of
--       that resource (lib/waiters.lua); a key without a hash tag has neither
--@reply 1 removed, 0 absent
-- Errors: none. O(waiters); Redis frees the memory in the background.
--@flags allow-oom
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 0, now }
end
waiters_wake_all(KEYS[2], KEYS[3], 0) -- first: the key may be their wait queue
redis.call('UNLINK', KEYS[1])
return { 1, now }
