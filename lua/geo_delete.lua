-- geo_delete: removes a whole set.
-- KEYS[1]  the set
-- Returns {1, now, members it had}, {0, now} it was not there
-- Errors: WRONGTYPE, nothing done. O(1); memory is freed in the background.
--@include time
--@flags allow-oom
local now = now_ms()
local members = redis.call('ZCARD', KEYS[1])
if members == 0 then
  return {0, now}
end
redis.call('UNLINK', KEYS[1])
return {1, now, members}
