-- The state of a group, for scripts that return it. This module only reads, and must not know how
-- promote() (queues/groups/lib_queue_groups.lua) chooses a head.

--@shape queue_group: group text, ready int, blocked int, in_flight int, oldest_at_ms int,
-- reason text, until_ms int
-- oldest_at_ms is when the oldest ready or blocked message was sent, -1 without one. reason is '',
-- 'in_flight', 'backoff', 'limited' or 'paused'; until_ms is when the reason ends by itself, else
-- -1.
local MARKS_READ = 102 -- a pause, the head, and 100 messages that occupy the group

-- group_marks(group): what `busy` has of a group: whether it is held, its head in ready (nil:
-- none), how many messages occupy it, and the members of the first 100.
local function group_marks(group)
  local marks = { occupied = {} }
  local list = redis.call('ZRANGE', keys[BUSY], '[' .. group .. '\0', '(' .. group .. '\3', 'BYLEX', 'LIMIT', '0',
    format('%d', MARKS_READ))
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
    marks.count = redis.call('ZLEXCOUNT', keys[BUSY], '[' .. group .. '\2', '(' .. group .. '\3')
  end
  return marks
end

-- look_at_occupied(group, marks): the earliest end of a delivery that occupies the group (nil: none
-- is in flight). The head of a strict group occupies it in ready and in its backoff as well: it
-- becomes marks.head, or its due time becomes marks.backoff.
local function look_at_occupied(group, marks)
  local fields, earliest = {}, nil
  for i, member in ipairs(marks.occupied) do
    fields[i] = member:sub(2, 17) .. 's' .. group
  end
  for i, ends in ipairs(fields[1] and redis.call('ZMSCORE', keys[FLIGHT], unpack(fields)) or {}) do
    local member = marks.occupied[i]
    if ends and tonumber(ends) >= 0 then
      earliest = math.min(earliest or math.huge, tonumber(ends))
    else
      marks.count = marks.count - 1
      if redis.call('ZSCORE', keys[READY], member .. group) then
        marks.head = member
      else
        marks.backoff = tonumber(redis.call('ZSCORE', keys[DELAYED], member .. group) or nil)
      end
    end
  end
  return earliest
end

-- oldest_of(group, blocked, head): when the oldest of the blocked messages and the head was sent.
-- It reads the first of each priority.
local function oldest_of(group, blocked, head)
  local oldest, priority = head and tonumber(head:sub(2, 17)) or math.huge, 0
  while blocked > 0 and priority <= 9 do
    local from = '[' .. group .. '\0' .. format('%d', priority)
    local first = redis.call('ZRANGE', keys[ORDER], from, '(' .. group .. '\1', 'BYLEX', 'LIMIT', '0', '1')[1]
    if not first then
      break
    end
    oldest = math.min(oldest, tonumber(first:sub(#group + 3, #group + 18)))
    priority = first:sub(#group + 2, #group + 2) + 1
  end
  return oldest < math.huge and math.floor(oldest / 1000) or -1
end

-- group_of(group): the group as queue_group; nil when it has no messages and no reason.
local function group_of(group)
  local blocked = redis.call('ZLEXCOUNT', keys[ORDER], '[' .. group .. '\0', '(' .. group .. '\1')
  local marks = group_marks(group)
  local earliest = look_at_occupied(group, marks)
  local scores = redis.call('ZMSCORE', keys[GROUPS], 'h' .. group, 'p' .. group)
  local held_until, paused_until = tonumber(scores[1] or 0), math.ceil((scores[2] or 0) / 1000)
  local reason, until_ms = '', -1
  if paused_until > now then
    reason, until_ms = 'paused', paused_until
  elseif marks.is_held and held_until > now then
    reason, until_ms = 'limited', held_until
  elseif marks.backoff and not marks.head then
    reason, until_ms = 'backoff', marks.backoff
  elseif blocked > 0 and earliest and not marks.head then
    reason, until_ms = 'in_flight', earliest
  end
  if blocked == 0 and marks.count == 0 and not marks.head and reason == '' then
    return nil
  end
  local ready = marks.head and 1 or 0
  return { group, ready, blocked, marks.count, oldest_of(group, blocked, marks.head), reason, until_ms }
end
