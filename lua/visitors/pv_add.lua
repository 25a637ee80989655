-- pv_add: adds to a page's view counter of one day.
-- KEYS[1]  the day's counter: string, TTL
-- ARGV[1]  the day, in days since 1970
-- ARGV[2]  the same when it was taken for today, else ''
-- ARGV[3]  how long the counter is kept from now, s
-- ARGV[4]  how much to add
--@reply 1: count int, day int
--@reply -1 wrong_day
--@reply -2 overflow: count int
-- wrong_day: it is not today. overflow: the sum would be beyond 2^53 - 1.
-- Errors: WRONGTYPE, also for text that is not a counter; nothing done. O(1).
--@include time days views
--@idempotent
local now = now_ms()
if day_is_wrong(now, ARGV[2]) then
  return {-1, now}
end
local count = views_of(KEYS[1])
if count + tonumber(ARGV[4]) > VIEWS_MOST then
  return {-2, now, count}
end
count = redis.call('INCRBY', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {1, now, count, tonumber(ARGV[1])}
