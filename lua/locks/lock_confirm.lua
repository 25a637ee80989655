-- lock_confirm: writes a lock's last fence again, unchanged, so that replicas can be asked whether
-- they have everything up to now. WAIT answers for what its own connection wrote, and a replay of a
-- grant writes nothing.
-- KEYS  1 a lock's last fence: counter, no TTL
--@reply 1
-- Errors: WRONGTYPE. O(1).
local fence = redis.call('GET', KEYS[1])
if fence then
  redis.call('SET', KEYS[1], fence)
end
return { 1, now }
