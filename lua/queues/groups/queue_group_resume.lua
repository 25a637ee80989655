-- queue_group_resume: ends the pause of a group. A group that is not paused stays as it is.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 group
--@reply 1 resumed, 0 unchanged: group [queue_group]
--@reply -1 absent
-- The group is as it is afterwards. absent: the queue does not exist.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_group_look
--@flags allow-oom
check_types()
local group = ARGV[1]
if redis.call('EXISTS', queue_key) == 0 then
  return { -1, now }
end
local function nothing_of(group)
  return { group, 0, 0, 0, -1, '', -1 }
end
if not redis.call('ZSCORE', groups_key, 'p' .. group) then
  return { 0, now, group_of(group) or nothing_of(group) }
end
read_waiters()
plan('ZREM', groups_key, 'p' .. group, 'h' .. group)
plan('ZREM', busy_key, group .. '\0')
touch(group)
commit()
return { 1, now, group_of(group) or nothing_of(group) }
