-- queue_schedule_get: a schedule of a queue.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {0, now_ms, item (queues/lib_queue_schedule.lua)}: id, every_ms (0: a cron), cron,
-- start_at_ms, end_at_ms (0: none), priority, overlap, next_at_ms, last_at_ms (0: none), sent,
-- missed, skipped, headers and body with a tab between; {-1, now_ms} when there is none.
-- Errors: WRONGTYPE. O(1).
--@include time queue queue_schedule
--@reads
local s = read_schedule(ARGV[1])
if not s then
  return { -1, now }
end
return { 0, now, schedule_item(ARGV[1], s) }
