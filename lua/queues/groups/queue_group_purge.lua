-- queue_group_purge: one step of removing the messages of a group, in one state or all; their ids
-- are free at once.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 group, 2 state: 'ready', 'blocked', 'delayed', 'in_flight', 'dead' or '' for all, 3 how
--       many the steps before removed, 4 cursor of the step before, '' to begin
--@reply 2 more, 0 settled, 1 finished, -1 nothing: queue_group_step
-- The outcomes are those of queue_purge; a step that only looked replies as one that settled. A
-- step removes from one place, and what is blocked goes first, so that none of it becomes ready.
-- Errors: WRONGTYPE, nothing changed in this step. O(5000 * log(queue)).
--@include time out_of_time queue queue_types queue_settings queue_message queue_change
--@include queue_plan queue_ended queue_page queue_group_look queue_group_walk
--@flags allow-oom
--@idempotent parts
local group, state, before, cursor = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local total = before
check_types()

-- Deliveries whose visibility ended first become what they are: a step of its own.
if settle_ended('250') > 0 then
  return { 0, now, total, cursor }
end

local function wants(one)
  return state == '' or state == one
end
local function take(m)
  forget(m)
  total = total + (m.lost and 0 or 1)
  return total - before < REMOVED_MOST
end

-- Takes messages of a place by their members and scores. False: the step has done its part.
local function take_all(place, flat)
  local found, next_read = messages_of(place, flat), 1
  for i, m in ipairs(found) do
    if m.has_state then
      next_read = math.max(next_read, i + 1)
    elseif i >= next_read then
      next_read = add_contents(found, i)
    end
    bytes = bytes + (m.content and #m.content or m.size == 'b' and redis.call('HSTRLEN', queue_key, m.seq) or 0)
    if not take(m) or bytes >= BYTES_MOST or i % 100 == 0 and out_of_time() then
      return false
    end
  end
  return true
end

-- The steps, in this order: each returns where in its place it goes on, nil when that has no more.
local places = {}
places[1] = wants('blocked') and function()
  local from, to = '[' .. group .. '\0', '(' .. group .. '\1'
  local members = redis.call('ZRANGE', order_key, from, to, 'BYLEX', 'LIMIT', '0', digits(REMOVED_MOST))
  local flat = {}
  for i, member in ipairs(members) do
    flat[2 * i - 1], flat[2 * i] = member, '0'
  end
  return not take_all(order_key, flat) and '' or nil
end
-- The head, what is in flight, and a strict message in its backoff. What is removed may promote
-- others; these are not met again.
places[2] = function()
  local marks = group_marks(group)
  local members = { unpack(marks.occupied) }
  members[#members + 1] = marks.head -- a strict group, or one with nothing ready, has none
  for _, member in ipairs(members) do
    for _, place in ipairs({ { 'ready', ready_key, member .. group }, { 'delayed', delayed_key, member .. group },
      { 'in_flight', flight_key, member:sub(2, 17) .. 's' .. group } }) do
      local score = wants(place[1]) and redis.call('ZSCORE', place[2], place[3])
      if score and tonumber(score) >= 0 then
        take_all(place[2], { place[3], score })
      end
    end
  end
  return marks.count > #marks.occupied and total > before and '' or nil
end
places[3] = (wants('delayed') or wants('ready')) and function(rest)
  return walk(delayed_key, group, rest, function(due)
    return wants(due <= now and 'ready' or 'delayed')
  end, take)
end
places[4] = wants('dead') and function(rest)
  return walk(dead_key, group, rest, function()
    return true
  end, take)
end

local at, rest = cursor:match('^(%d) ?(.*)$')
at, rest = tonumber(at or 1), rest or ''
while at <= 4 and not places[at] do
  at = at + 1
end
if places[at] then
  rest = places[at](rest)
  commit()
  if not rest then
    at, rest = at + 1, ''
  end
end
if at <= 4 then
  return { total > before and 2 or 0, now, total, digits(at) .. ' ' .. rest }
end
return { total > 0 and 1 or -1, now, total, '' }
