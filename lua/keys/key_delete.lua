-- key_delete: removes a key, whatever it holds, and wakes the waiters of what it is a part of.
-- KEYS[1]  any key
-- Returns {1, now} removed, {0, now} it was not there
-- Errors: none. O(1); memory is freed in the background.
--@include time wake
--@flags allow-oom
local EVERYBODY = 1000000000 -- their line may be what was removed
local now = now_ms()
local removed = redis.call('UNLINK', KEYS[1])
if removed == 1 then
  wake(channel_of(KEYS[1]), EVERYBODY, -1)
end
return {removed, now}
