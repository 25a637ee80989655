-- queue_group_list: one page of a queue's groups, in the order of their names as bytes.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 the last group of the page before, '' to begin, 2 how many at most (1..1000), 3 '1':
--       queue_settle was called
--@reply 0: last_group text, groups [queue_group]...
--@again -1 unsettled: settled int
--@first queue_settle
-- last_group is the last group of this page, '' at the end. A page may be short; it also ends after
-- a millisecond.
-- Errors: WRONGTYPE. O(groups of the page * log(queue)), however many messages are blocked.
--@reads
local last_group, most, settled = ARGV[1], tonumber(ARGV[2]), ARGV[3]
check_types()
if settled ~= '1' and is_unsettled() then
  return { -1, now, 1 }
end

-- next_in(key, after, behind): the first group after `after` in a sorted set, nil at the end.
-- Members of one group begin with its name and a byte below `behind`. No name has bytes below a
-- blank.
local function next_in(key, after, behind)
  local from = after == '' and '-' or '(' .. after .. behind
  local member = redis.call('ZRANGE', key, from, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
  return member and (member:match('^([^%z\1\2]+)[%z\1\2]') or foreign('a group that is not one'))
end

-- is_before(a, b): compares bytes as Redis does; Lua's < depends on the server's locale.
local function is_before(a, b)
  local at = 1
  while a:byte(at) == b:byte(at) do
    at = at + 1
  end
  return (a:byte(at) or -1) < (b:byte(at) or -1)
end

local reply, after = { 0, now, '' }, last_group
local blocked, marked = next_in(keys[ORDER], after, '\1'), next_in(keys[BUSY], after, '\3')
local looked_at = 0
while blocked or marked do
  if looked_at == most or looked_at > 0 and out_of_time() then
    reply[3] = after
    break
  end
  local group = marked
  if blocked == marked or not marked or blocked and is_before(blocked, marked) then
    group = blocked
  end
  reply[#reply + 1] = group_of(group)
  looked_at, after = looked_at + 1, group
  if blocked == group then
    blocked = next_in(keys[ORDER], group, '\1')
  end
  if marked == group then
    marked = next_in(keys[BUSY], group, '\3')
  end
end
return reply
