-- queue_group_resume: ends the pause of a group. A group that is not paused stays as it is.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 group
--@reply 1 resumed, 0 unchanged: group [queue_group]
--@reply -1 absent
-- group is the group after the change. absent: the queue does not exist.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
local group = ARGV[1]
check_types()
if redis.call('EXISTS', keys[QUEUE]) == 0 then
  return { -1, now }
end
local function nothing_of(group)
  return { group, 0, 0, 0, -1, '', -1 }
end
if not redis.call('ZSCORE', keys[GROUPS], 'p' .. group) then
  return { 0, now, group_of(group) or nothing_of(group) }
end
read_waiters()
plan('ZREM', keys[GROUPS], 'p' .. group, 'h' .. group)
plan('ZREM', keys[BUSY], group .. '\0')
touch(group)
commit()
return { 1, now, group_of(group) or nothing_of(group) }
