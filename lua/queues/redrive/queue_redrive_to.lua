-- queue_redrive_to: one step of moving dead letters to another queue, the longest dead first, or
-- the ones with given ids. They are due now, with receives 0 and without their ttl. Each is sent to
-- the other queue, behind the messages that are already there, and keeps its id, even if the daemon
-- made the id. A message whose id the other queue has or remembers stays a dead letter. Each names
-- the queue that it comes from (queues/redrive/lib_queue_letter.lua).
-- KEYS  the keys of the queue and of the other queue (queues/lib_queue.lua), and the index of names
--       (lib/made.lua)
-- ARGV  1 interval_ms: how much later each is due than the one before (0: all are due now), 2 how
--       many at most, 3 the name of the queue, percent-encoded, 4 '1': for its setting
--       dead_letter_queue (queue_letters_claim): only as many as letters_room() admits, and the
--       ttl_ms of the other queue begins; else '', 5... the ids, at most 100, in place of 2; then
--       how many letters the steps before left, since the other queue has their ids, and the part:
--       how many they moved, a dot, and where they ended
--@again 2 more, 0 settled: left int, step text
--@reply 1 finished, -1 nothing, 3 full: queue_step, duplicates int
-- queue_purge explains the outcomes. full: there is no room for more. A step settles at most 250,
-- or moves at most 1000 and 4 MiB of bodies, and ends after a millisecond.
-- Errors: WRONGTYPE, nothing changed in this step. O(1000 * log(queue)).
--@idempotent parts
local interval_ms, most, name, is_setting = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local duplicates = tonumber(table.remove(ARGV))
local before, at = part:match('^(%d+)%.(%d+)$')
before, at = tonumber(before), tonumber(at)
local STEP_MOST, FIRST_ID = 1000, 5
local total, bytes, has_ids = before, 0, #ARGV >= FIRST_ID

-- use(i): from here on the call is about queue number i: 0 has the dead letters, 1 is the other
-- one. The types and the wait queues of both are read before anything is written.
local waiting, stored, room = {}, nil, math.huge
local function use(i)
  queue_use(i)
  queue.waiting, queue.stored = waiting[i], i == 1 and stored or nil
  check_types()
  check_groups()
end
for i = 1, 0, -1 do
  use(i)
  read_waiters()
  waiting[i] = queue.waiting
  if i == 1 then
    stored = read_store()
    room = is_setting and letters_room() or math.huge
  end
end
if settle_ended('250', true) > 0 then
  serve_waiters()
  return { 0, now, duplicates, part }
end

-- letters_by_id, letters_by_age: the next dead letters, at most `count`, with their contents; and
-- whether no more follow.
local function letters_by_id(count)
  local letters, i = {}, at
  while #letters < count and bytes < BYTES_MOST and ARGV[FIRST_ID + i] do
    local m, state = find(ARGV[FIRST_ID + i])
    i = i + 1
    if state == 'dead' then
      bytes = bytes + #m.content
      letters[#letters + 1] = m
    end
  end
  at = i
  return letters, not ARGV[FIRST_ID + i]
end
local function letters_by_age(count)
  local kept, page = '(' .. format('%d', now - setting('dead_retention_ms')), { format('%d', at), format('%d', count) }
  local flat = redis.call('ZRANGE', keys[DEAD], kept, '+inf', 'BYSCORE', 'LIMIT', page[1], page[2], 'WITHSCORES')
  local found, letters, next_read = messages_of(keys[DEAD], flat), {}, 1
  for i, m in ipairs(found) do
    if bytes >= BYTES_MOST then
      return letters, false
    elseif i >= next_read then
      next_read = add_contents(found, i)
    end
    bytes = bytes + (m.content and #m.content or 0)
    letters[i] = m
  end
  return letters, #found < count
end

-- move_letters(letters): moves the dead letters whose ids are free.
local function move_letters(letters)
  local moved, taken = {}, {}
  use(1)
  for _, m in ipairs(letters) do
    local id = id_of(m)
    if m.content and (taken[id] or letter_there(id, '')) then
      duplicates = duplicates + 1
      at = at + (has_ids and 0 or 1)
    else
      taken[id] = true
      moved[#moved + 1] = m
    end
  end
  use(0)
  for _, m in ipairs(moved) do
    forget(m)
  end
  commit(true)
  use(1)
  for _, m in ipairs(moved) do
    if m.content then
      local body = body_from(name, m)
      m.id = id_of(m)
      revive(m)
      m.expires_at, m.at = is_setting and expiry_here() or 0, now + total * interval_ms
      store(m, body)
      total = total + 1
    end
  end
  if total > before then
    plan_stored()
    if is_setting then
      note_letters(name)
    end
    commit(true)
  end
  use(0)
end

local count, is_last, looked_at = nil, false, 0
while total - before < room do
  count = math.min(100, STEP_MOST - looked_at, room - (total - before), has_ids and 100 or most - total)
  local letters
  if has_ids then
    letters, is_last = letters_by_id(count)
  else
    letters, is_last = letters_by_age(count)
  end
  looked_at = looked_at + #letters
  move_letters(letters)
  is_last = is_last or not has_ids and total == most
  if is_last or looked_at >= STEP_MOST or bytes >= BYTES_MOST or out_of_time() then
    break
  end
end
local is_full = not is_last and total - before >= room
if is_setting and is_last and duplicates == 0 and total < most then
  redis.call('HDEL', keys[QUEUE], 'move_at')
end
for i = 0, 1 do
  use(i)
  serve_waiters()
end
if stored.is_new and total > before then
  made = { keys[QUEUE] }
end
if is_full then
  return { 3, now, total, duplicates }
elseif not is_last then
  return { total > before and 2 or 0, now, duplicates, format('%d.%d', total, at) }
end
return { total > 0 and 1 or -1, now, total, duplicates }
