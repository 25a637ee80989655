-- What a queue knows of deliveries that failed, in the field `failures` of its hash: ten values, a
-- blank between them.
--   retrying   delayed messages that were delivered before
--   rejected, timed_out  failed deliveries, ever
--   since, failed, before  when the window began (a multiple of WINDOW_MS), how many failed in it,
--              and in the window before
--   last_at, last  when the last delivery failed, and the sequence of its message
--   receives, most  the most deliveries that a message had when it failed, and its sequence: not
--              of a message that is gone by the next failure
-- A queue in which no delivery failed lacks the field.
-- The field `failing` has how many deliveries failed since the last acknowledgement, and when the
-- last of them failed. Several failures of one message in a row count once. The field is removed
-- with the acknowledgement that came later.
local WINDOW_MS = REMEMBERED_MS -- so that acknowledgements can be counted as well

-- read_failures(text): the field as a table.
local function read_failures(text)
  local f = { retrying = 0, rejected = 0, timed_out = 0, since = 0, failed = 0, before = 0, last_at = 0, last = '-',
    receives = 0, most = '-' }
  if text then
    f.retrying, f.rejected, f.timed_out, f.since, f.failed, f.before, f.last_at, f.last, f.receives, f.most =
      text:match('^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%S+)$')
    if not f.most then
      foreign('a hash that is not a queue')
    end
  end
  return f
end

-- failed_lately(f): how many deliveries failed within the last WINDOW_MS, if the failures of the
-- window before were evenly spread.
local function failed_lately(f)
  local past = now - f.since
  if past >= 2 * WINDOW_MS then
    return 0
  elseif past >= WINDOW_MS then
    return f.failed * (2 - past / WINDOW_MS)
  end
  return f.failed + f.before * (1 - math.max(past, 0) / WINDOW_MS)
end

-- read_failing(text): the two values of the field `failing`.
local function read_failing(text)
  local count, at = (text or '0 0'):match('^(%d+) (%d+)$')
  if not at then
    foreign('a hash that is not a queue')
  end
  return count + 0, at + 0
end

-- acknowledged_at(score, rules): when a delivery with that score in `flight` was acknowledged;
-- below 0 if it was not.
local function acknowledged_at(score, rules)
  return -score - math.max(REMEMBERED_MS, result_ms_of(rules))
end

-- still_failing(count, at, rules): how many failed in a row, 0 if something was acknowledged since.
-- An acknowledgement of the same millisecond may have been later.
local function still_failing(count, at, rules)
  local newest = count > 0 and redis.call('ZRANGE', keys[FLIGHT], '0', '0', 'WITHSCORES')[2]
  return newest and acknowledged_at(newest, rules) >= at and 0 or count
end

-- failures(): the field, which is read once, with the settings that decide what becomes of a
-- message whose delivery failed.
local function failures()
  if not queue.failures then
    local stored = redis.call('HMGET', keys[QUEUE], 'failures', 'max_receives', 'backoff_base_ms', 'backoff_max_ms',
      'failing')
    know('max_receives', stored[2])
    know('backoff_base_ms', stored[3])
    know('backoff_max_ms', stored[4])
    queue.failures, queue.was_failing = read_failures(stored[1]), stored[5]
  end
  return queue.failures
end

-- note_failure(m, how): plans that a delivery failed; `how` is 'rejected' or 'timed_out'.
local function note_failure(m, how)
  local f, since = failures(), now - now % WINDOW_MS
  if since ~= f.since + 0 then
    f.before = since == f.since + WINDOW_MS and f.failed or 0
    f.since, f.failed = since, 0
  end
  if not queue.failing then
    local count, at = read_failing(queue.was_failing)
    check_types() -- which reads the rules
    queue.failing = still_failing(count, at, queue.rules_text)
  end
  queue.failing = math.max(queue.failing + (f.last == m.seq and 0 or 1), 1)
  f[how], f.failed, f.last_at, f.last = f[how] + 1, f.failed + 1, now, m.seq
  local is_gone = f.most ~= m.seq and m.receives < f.receives + 0
    and redis.call('HEXISTS', keys[QUEUE], f.most) == 0
  if is_gone or m.receives >= f.receives + 0 or f.most == m.seq then
    f.receives, f.most = m.receives, m.seq
  end
  queue.fails = true
end

-- note_retries(change): plans a change of `retrying`.
local function note_retries(change)
  if change ~= 0 then
    local f = failures()
    f.retrying = math.max(f.retrying + change, 0)
    queue.fails = true
  end
end

-- end_failing(member): plans that nothing fails in a row any more, if the acknowledgement of that
-- member of `flight`, which is about to be forgotten, was later.
local function end_failing(member)
  local stored = redis.call('HGET', keys[QUEUE], 'failing')
  local _, at = read_failing(stored or nil)
  if stored and acknowledged_at(redis.call('ZSCORE', keys[FLIGHT], member), queue.rules_text) >= at then
    plan('HDEL', keys[QUEUE], 'failing')
  end
end

-- note_death(m): plans that a message is not the one which failed most often any more.
local function note_death(m)
  if queue.failures and queue.failures.most == m.seq then
    queue.failures.receives, queue.failures.most = 0, '-'
  end
end

-- is_retained(seq, state, kept_since): whether a message is not a dead letter past its retention.
local function is_retained(seq, state, kept_since)
  local m = read_state(state)
  m.seq = seq
  local died_at = redis.call('ZSCORE', keys[DEAD], member_of(m))
  return not died_at or died_at + 0 > kept_since
end

-- failed_messages(f, kept_since): sequence and state of the message that failed last, and of the
-- one that failed most often; '' for one that is gone, or was redriven.
local function failed_messages(f, kept_since)
  local seqs, list = { f.last, f.most }, { '', '', '', '' }
  local stored = f.last ~= '-' and redis.call('HMGET', keys[QUEUE], f.last, f.last .. 's', f.most, f.most .. 's') or {}
  for k = 1, #stored, 2 do
    if stored[k] and stored[k + 1] and stored[k + 1]:sub(32, 32) ~= '0'
      and (k > 1 or is_retained(f.last, stored[2], kept_since)) then -- `most` is not a dead letter
      list[k], list[k + 1] = seqs[(k + 1) / 2], stored[k + 1]
    end
  end
  return list
end

-- plan_failures(): plans the field, if it changed.
local function plan_failures()
  if queue.fails then
    local f = queue.failures
    plan('HSET', keys[QUEUE], 'failures', format('%d %d %d %d %d %d %d %s %d %s', f.retrying, f.rejected, f.timed_out,
      f.since, f.failed, f.before, f.last_at, f.last, f.receives, f.most))
    if queue.failing then
      plan('HSET', keys[QUEUE], 'failing', format('%d ', queue.failing) .. instant)
    end
    queue.fails = false
  end
end
