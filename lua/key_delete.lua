-- key_delete: removes a key, whatever it holds.
-- KEYS[1]  any key
-- Returns {1, now} removed, {0, now} it was not there
-- Errors: none. O(1); memory is freed in the background.
--@include time
--@flags allow-oom
local now = now_ms()
return {redis.call('UNLINK', KEYS[1]), now}
