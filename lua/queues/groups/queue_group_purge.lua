-- queue_group_purge: one step of removing the messages of a group, in one state or all. Their ids
-- are free at once.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 group, 2 state: 'ready', 'blocked', 'delayed', 'in_flight', 'dead' or '' for all, 3
--       cursor of the step before, '' to begin; then the part: how many the steps before removed
--@again 2 more, 0 settled: cursor text, so_far int
--@reply 1 finished, -1 nothing: queue_step
-- queue_purge explains the outcomes; a step that only read replies as a step that settled. A step
-- removes from one place, and blocked messages are removed first, so that none of them becomes
-- ready.
-- Errors: WRONGTYPE, nothing changed in this step. O(5000 * log(queue)).
--@flags allow-oom
--@idempotent parts
local group, state, cursor, before = ARGV[1], ARGV[2], ARGV[3], tonumber(part)
local total = before
check_types()

-- What time has ended is settled first, in a separate step.
if settle_time('250') > 0 then
  return { 0, now, cursor, total }
end

local function wants(one)
  return state == '' or state == one
end
local function take(m)
  forget(m)
  total = total + (is_counted(m) and 1 or 0)
  return total - before < REMOVED_MOST
end

-- take_all(place, flat): takes messages of a place by their members and scores. Returns false when
-- the step has done its part.
local function take_all(place, flat)
  local count = 0
  return not take_each(messages_of(place, flat), function(m)
    count = count + 1
    return take(m) and not (count % 100 == 0 and out_of_time())
  end)
end

-- The steps, in this order. Each returns where in its place the next step continues, nil at the
-- end.
local places = {}
places[1] = wants('blocked') and function()
  local from, to = '[' .. group .. '\0', '(' .. group .. '\1'
  local members = redis.call('ZRANGE', keys[ORDER], from, to, 'BYLEX', 'LIMIT', '0', format('%d', REMOVED_MOST))
  local flat = {}
  for i, member in ipairs(members) do
    flat[2 * i - 1], flat[2 * i] = member, '0'
  end
  return not take_all(keys[ORDER], flat) and '' or nil
end
-- It takes the head, the messages in flight, and a strict message in its backoff. Other messages
-- may be promoted in their place; this call does not remove the promoted ones.
places[2] = function()
  local marks = group_marks(group)
  local members = { unpack(marks.occupied) }
  members[#members + 1] = marks.head -- a strict group, or a group with nothing ready, has none
  for _, member in ipairs(members) do
    for _, place in ipairs({ { 'ready', keys[READY], member .. group }, { 'delayed', keys[DELAYED], member .. group },
      { 'in_flight', keys[FLIGHT], member:sub(2, 17) .. 's' .. group } }) do
      local score = wants(place[1]) and redis.call('ZSCORE', place[2], place[3])
      if score and tonumber(score) >= 0 then
        take_all(place[2], { place[3], score })
      end
    end
  end
  return marks.count > #marks.occupied and total > before and '' or nil
end
places[3] = (wants('delayed') or wants('ready')) and function(rest)
  return walk(keys[DELAYED], group, rest, function(due)
    return wants(due <= now and 'ready' or 'delayed')
  end, take)
end
places[4] = wants('dead') and function(rest)
  return walk(keys[DEAD], group, rest, function()
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
  return { total > before and 2 or 0, now, format('%d', at) .. ' ' .. rest, total }
end
return { total > 0 and 1 or -1, now, total }
