-- queue_schedule_get: a schedule of a queue.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id, 2 '1': the messages of schedules have been made
--@reply 0: schedule [queue_schedule_full]
--@reply -1 absent
--@again -2 schedule_due: settled int
--@first queue_settle
-- Errors: WRONGTYPE. O(1).
--@reads
local id, settled = ARGV[1], ARGV[2]
if settled ~= '1' and is_schedule_due() then
  return { -2, now, 1 }
end
local s = read_schedule(id)
if not s then
  return { -1, now }
end
return { 0, now, schedule_item(id, s) }
