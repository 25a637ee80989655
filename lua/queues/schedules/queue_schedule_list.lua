-- queue_schedule_list: one page of a queue's schedules, without headers and bodies.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 cursor: '0' to begin, or as returned before, 2 how many at most (1..1000), 3 '1': the
--       messages of schedules have been made
--@reply 0: next_cursor text, schedules [queue_schedule]...
--@reply -1 no_cursor
--@again -2 schedule_due: settled int
--@first queue_settle
-- next_cursor is '0' at the end.
-- Errors: WRONGTYPE. O(page): it reads at most 2000 schedules, for a millisecond.
--@reads
local cursor, most, settled = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if settled ~= '1' and is_schedule_due() then
  return { -2, now, 1 }
end
local ids, next_cursor = scan_page('ZSCAN', keys[SCHEDULES], cursor, '', most)
if not ids then
  return { -1, now }
end
local reply = { 0, now, next_cursor }
for _, id in ipairs(ids) do
  local s = read_schedule(id)
  if s then
    reply[#reply + 1] = schedule_settings(id, s)
  end
end
return reply
