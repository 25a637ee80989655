-- The state of a group, for scripts that return it. This part only reads, and must not know how
-- promote() (queues/groups/lib_queue_groups.lua) chooses a head. Needs queues/lib_queue.lua and
-- queues/deliveries/lib_queue_ended.lua with what it needs.

--@shape queue_group: group text, ready int, blocked int, in_flight int, oldest_at_ms int,
-- reason text, until_ms int
-- oldest_at_ms is when the oldest ready or blocked message was sent, -1 without one. reason is '',
-- 'in_flight', 'backoff', 'limited' or 'paused'; until_ms is when the reason ends by itself, else
-- -1.
local MARKS_READ = 102 -- a pause, the head, and 100 messages that occupy the group

-- group_marks(group): what `busy` has of a group: whether it is held, its head in ready (nil:
-- none), how many messages occupy it, and the members of the first 100.
local function group_marks(group)
  local marks = { occupied = {}, due = {} }
  local list = redis.call('ZRANGE', busy_key, '[' .. group .. '\0', '(' .. group .. '\3', 'BYLEX', 'LIMIT', '0',
    digits(MARKS_READ))
  for _, mark in ipairs(list) do
    local kind, member = mark:byte(#group + 1), mark:sub(#group + 2)
    if kind == 0 then
      marks.is_held = true
    elseif kind == 1 then
      marks.head = member
    else
      marks.occupied[#marks.occupied + 1] = member
    end
  end
  marks.count = #marks.occupied
  if #list == MARKS_READ then
    marks.count = redis.call('ZLEXCOUNT', busy_key, '[' .. group .. '\2', '(' .. group .. '\3')
  end
  return marks
end

-- look_at_ended(marks, i, ended_at, field): a delivery that has ended is what it becomes: due now,
-- one of marks.due; later, and in a strict queue its group waits for it; or gone.
local function look_at_ended(marks, i, ended_at, field)
  marks.has_ended = true
  local m = ended_delivery(field, redis.call('HGET', queue_key, field:sub(1, 17)), ended_at)
  if m.state == 'due' and m.at <= now then
    marks.due[#marks.due + 1] = marks.occupied[i]
  elseif m.state == 'due' and rules and rules.order == 'strict' then
    marks.backoff = m.at
  end
end

-- look_at_occupied(group, marks): the earliest end of a delivery that occupies the group (nil: none
-- is in flight). The head of a strict group occupies it in ready and in its backoff as well: it
-- becomes marks.head, or its due time becomes marks.backoff.
local function look_at_occupied(group, marks)
  local fields, earliest = {}, nil
  for i, member in ipairs(marks.occupied) do
    fields[i] = member:sub(2, 17) .. 's' .. group
  end
  for i, ends in ipairs(fields[1] and redis.call('ZMSCORE', flight_key, unpack(fields)) or {}) do
    local member = marks.occupied[i]
    if ends and tonumber(ends) > now then
      earliest = math.min(earliest or math.huge, tonumber(ends))
    elseif ends and tonumber(ends) >= 0 then
      marks.count = marks.count - 1
      look_at_ended(marks, i, tonumber(ends), fields[i])
    else
      marks.count = marks.count - 1
      if redis.call('ZSCORE', ready_key, member .. group) then
        marks.head = member
      else
        marks.backoff = tonumber(redis.call('ZSCORE', delayed_key, member .. group) or nil)
      end
    end
  end
  return earliest
end

-- oldest_of(group, blocked, places): when the oldest of the blocked messages and of those at
-- `places` was sent. It reads the first of each priority.
local function oldest_of(group, blocked, places)
  local oldest, priority = math.huge, 0
  for _, place in ipairs(places) do
    oldest = math.min(oldest, tonumber(place:sub(2, 17)))
  end
  while blocked > 0 and priority <= 9 do
    local from = '[' .. group .. '\0' .. digits(priority)
    local first = redis.call('ZRANGE', order_key, from, '(' .. group .. '\1', 'BYLEX', 'LIMIT', '0', '1')[1]
    if not first then
      break
    end
    oldest = math.min(oldest, tonumber(first:sub(#group + 3, #group + 18)))
    priority = first:sub(#group + 2, #group + 2) + 1
  end
  return oldest < math.huge and math.floor(oldest / 1000) or -1
end

-- group_of(group): the group as queue_group; nil when it has no messages and no reason. What time
-- has ended keeps nothing back.
local function group_of(group)
  local stored = redis.call('ZLEXCOUNT', order_key, '[' .. group .. '\0', '(' .. group .. '\1')
  local marks = group_marks(group)
  local earliest, blocked = look_at_occupied(group, marks), stored + #marks.due
  local scores = redis.call('ZMSCORE', groups_key, 'h' .. group, 'p' .. group)
  local held_until, paused_until = tonumber(scores[1] or 0), math.ceil((scores[2] or 0) / 1000)
  local limit = rules and (rules.order == 'strict' and 1 or rules.group_concurrency) or math.huge
  local ready, reason, until_ms = marks.head and 1 or 0, '', -1
  if paused_until > now then
    reason, until_ms = 'paused', paused_until
  elseif marks.is_held and held_until > now then
    reason, until_ms = 'limited', held_until
  elseif marks.backoff and ready == 0 then
    reason, until_ms = 'backoff', marks.backoff
  elseif ready == 0 and blocked > 0 and marks.count < limit and (marks.has_ended or marks.is_held) then
    ready, blocked = 1, blocked - 1
  elseif ready == 0 and blocked > 0 and earliest then
    reason, until_ms = 'in_flight', earliest
  end
  if blocked == 0 and marks.count == 0 and ready == 0 and reason == '' then
    return nil
  end
  marks.due[#marks.due + 1] = marks.head
  return { group, ready, blocked, marks.count, oldest_of(group, stored, marks.due), reason, until_ms }
end
