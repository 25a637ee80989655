-- Makes the messages of a schedule whose instant has come. This module must not know how instants
-- are computed. A script that serves the waiters afterwards calls read_waiters() first.

-- is_undone(s): whether the last message of the schedule is in the queue, and is not a dead letter.
-- If its delivery has ended, that is settled first.
local function is_undone(s)
  if s.last_seq == '' then
    return false
  end
  local field = s.last_seq .. 's'
  local state = redis.call('HGET', keys[QUEUE], field)
  if plan_message(s.last_seq, state) then
    commit(true)
    state = redis.call('HGET', keys[QUEUE], field)
  end
  local content = redis.call('HGET', keys[QUEUE], s.last_seq)
  if not content then
    return false
  end
  local m = state and read_state(state) or read_header(content)
  if m.nonce == NO_NONCE and is_expired(m) then
    return false
  elseif not state then
    return true
  end
  m.seq = s.last_seq
  return not redis.call('ZSCORE', keys[DEAD], member_of(m))
end

-- make_message(id, s, at, due, missed, more): stores a message for the instant `at` that is due at
-- `due`, or the queue's delay_ms later. `more` is JSON text that is added to its `schedule`. The
-- queue's ttl_ms counts from `due` too, so that it does not end during the jitter. Returns its
-- sequence.
local function make_message(id, s, at, due, missed, more)
  local headers, body = redis.call('HGET', keys[QUEUE], '=' .. id):match('^([^\t]*)\t(.*)$')
  local made_by = '{"id":' .. s.json_id .. format(',"at_ms":%d,"missed":%d', at, missed) .. more .. '}'
  local header_field = headers ~= '' and '\th' .. headers or ''
  local m = read_header(instant .. s.priority .. '\n')
  check_types() -- which reads the rules
  local of_queue = queue.rules or {}
  m.group, m.at = s.group, due + (of_queue.delay_ms or 0)
  m.expires_at = of_queue.ttl_ms and math.max(due, now) + of_queue.ttl_ms or 0
  store(m, '\ts' .. made_by .. header_field .. '\t=' .. body)
  plan_stored()
  commit(true)
  s.last, s.last_seq, s.sent, s.missed = at, m.seq, s.sent + 1, s.missed + missed
  return m.seq
end

-- fire(id, at): makes the message of a schedule that came due at `at`, and sets the schedule's next
-- instant. The last instant removes the schedule.
local function fire(id, at)
  local s = read_schedule(id)
  if not s then
    remove_schedule(id)
    return
  end
  local missed = instants_between(s, at, s.stop > 0 and math.min(now, s.stop) or now)
  s.next = next_of(s, now)
  if s.overlap == 'skip' and is_undone(s) then
    s.skipped = s.skipped + 1 + missed
  else
    s.runs = s.runs + 1
    if s.runs == s.limit then
      s.next = nil
    end
    make_message(id, s, at, due_of(id, s, at), missed, s.next and '' or ',"last":true')
  end
  if s.next then
    put_schedule(id, s)
  else
    remove_schedule(id)
  end
end

-- fire_due(): makes the messages of the schedules that came due, at most 50. Call check_types()
-- first. Returns how many came due, and when the next is due, or nil.
local function fire_due()
  local due = redis.call('ZRANGE', keys[SCHEDULES], '-inf', instant, 'BYSCORE', 'LIMIT', '0', '50', 'WITHSCORES')
  for i = 1, #due, 2 do
    fire(due[i], tonumber(due[i + 1]))
  end
  return #due / 2, note_next()
end

-- fire_if_due(id, is_paused): makes the message of one schedule, which the script will change, if
-- it came due, and serves the waiters. Returns the schedule as it is afterwards, nil if there is
-- none. The script may still refuse its change.
local function fire_if_due(id, is_paused)
  local s = read_schedule(id)
  if s and s.next <= now and not is_paused then
    read_waiters()
    fire(id, s.next)
    note_next()
    serve_waiters()
    s = read_schedule(id)
  end
  return s
end
