-- pv_add: adds to a page's view counter of one day.
-- KEYS[1]  the day's counter: string, TTL
-- ARGV[1]  the day, in days since 1970
-- ARGV[2]  the same when it was taken for today, else ''
-- ARGV[3]  how long the counter is kept from now, s
-- ARGV[4]  how much to add
-- Returns {1, now, the day's count as text, day}
--         {-1, now} the day is not today
-- Errors: WRONGTYPE, also for a counter of 10^18 and more, which no adding ever made; nothing done. O(1).
--@include time days
--@idempotent
local now = now_ms()
if day_is_wrong(now, ARGV[2]) then
  return {-1, now}
end
local count = redis.call('GET', KEYS[1])
if count and not (#count <= 18 and string.find(count, '^%d+$')) then
  error(redis.error_reply('WRONGTYPE the key holds text that is not a counter'))
end
redis.call('INCRBY', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {1, now, redis.call('GET', KEYS[1]), tonumber(ARGV[1])} -- INCRBY's own reply would lose digits past 2^53
