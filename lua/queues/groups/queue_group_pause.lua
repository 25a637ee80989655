-- queue_group_pause: delivers no message of a group for a time. Messages in flight are not
-- affected.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 group, 2 for how many ms; a pause that lasts longer stays, 3 '1': queue_settle was called
--@reply 1 paused: group [queue_group]
--@reply -1 absent
--@again -2 unsettled: settled int
--@first queue_settle
-- group is the group after the change. absent: the queue does not exist; nothing is changed.
-- unsettled: nothing is changed.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
local group, pause_ms, settled = ARGV[1], tonumber(ARGV[2]), ARGV[3]
check_types()
if redis.call('EXISTS', keys[QUEUE]) == 0 then
  return { -1, now }
elseif settled ~= '1' and is_unsettled() then
  return { -2, now, 1 }
end
local until_ms = now + pause_ms
local scores = redis.call('ZMSCORE', keys[GROUPS], 'h' .. group, 'p' .. group)
local paused_until = math.max(until_ms, math.ceil((scores[2] or 0) / 1000))
local held_until = math.max(paused_until, tonumber(scores[1] or 0))
local marks = group_marks(group)
look_at_occupied(group, marks)
local head = marks.head
redis.call('ZCARD', keys[ORDER])

redis.call('ZADD', keys[GROUPS], format('%d', held_until), 'h' .. group, format('%d', paused_until * 1000),
  'p' .. group)
redis.call('ZADD', keys[BUSY], '0', group .. '\0')
redis.call('HSET', keys[QUEUE], 'group_paused_until', format('%d', math.max(paused_until, queue.group_paused_until)))
if head then -- it waits with the others; in a strict queue it no longer occupies its group
  redis.call('ZREM', keys[READY], head .. group)
  redis.call('ZREM', keys[BUSY], group .. '\1' .. head, group .. '\2' .. head)
  redis.call('ZADD', keys[ORDER], '0', group .. '\0' .. head)
end
return { 1, now, group_of(group) }
