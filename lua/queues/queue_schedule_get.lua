-- queue_schedule_get: a schedule of a queue.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id, 2 '1': what schedules would make was made
-- Returns {0, now_ms, item (queues/lib_queue_schedule.lua)}: id, every_ms (0: a cron), cron,
-- start_at_ms, end_at_ms (0: none), priority, overlap, next_at_ms, last_at_ms (0: none), sent,
-- missed, skipped, headers and body with a tab between; {-1, now_ms} when there is none;
-- {-2, now_ms} when queue_schedule_run comes first.
-- Errors: WRONGTYPE. O(1).
--@include time queue queue_schedule
--@reads
if ARGV[2] ~= '1' and is_schedule_due() then
  return { -2, now }
end
local s = read_schedule(ARGV[1])
if not s then
  return { -1, now }
end
return { 0, now, schedule_item(ARGV[1], s) }
