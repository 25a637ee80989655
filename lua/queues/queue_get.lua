-- queue_get: the counts of a queue and its settings.
-- KEYS     the keys of a queue (queues/lib_queue.lua)
-- ARGV[1]  a sum: 1 if queue_settle was called, or is not worth a call; 2 with annotations
--@reply 0: ready int, blocked int, delayed int, in_flight int, dead int, oldest_ready_at_ms int,
-- expired int, sent int, died int, settings (queue_settings), schedule_at_ms int, retrying int,
-- rejected int, timed_out int, failed_lately int, acknowledged_lately int, failing int,
-- last_failed_at_ms int,
-- hanging (queue_delivered), oldest_blocked_at_ms int, last_failed (queue_delivered),
-- most_failed (queue_delivered), exists int, letters_from text, created_at_ms int,
-- changed_at_ms int,
-- annotations [queue_annotation]...
--@again -1 unsettled: settled int
--@first queue_settle
--@shape queue_delivered: sequence text, stored_state text
-- oldest_ready_at_ms is -1 when nothing is ready. schedule_at_ms is the next instant of a schedule,
-- which may have passed; -1 without schedules. failed_lately and acknowledged_lately are of the
-- last 150 s; a delivery that was acknowledged as it was received does not count. failing is how
-- many failed in a row since then (lib_queue_failures.lua). last_failed_at_ms is 0 if no delivery
-- ever failed. A sequence is '' if the message is gone. oldest_blocked_at_ms is
-- -1 when nothing is blocked; it is of the first messages of the first 50 groups. exists is 0 for a
-- queue that was never used, or was deleted. letters_from is the queue, percent-encoded, whose dead
-- letters moved here last; '' without one. created_at_ms and changed_at_ms, of the settings, are
-- 0 if that was not noted.
-- Deliveries whose visibility ended count as what they will be once settled, and messages past
-- their ttl as expired. This is exact for the first 250 of each, as many as a change of the
-- settings settles; more count as ready, or where they are.
-- Errors: WRONGTYPE. O(log(queue)) and what has ended.
--@reads
local asked = tonumber(ARGV[1])
local names = {}
for name in pairs(UNSET) do
  names[#names + 1] = name
end
local n = #names
names[n + 1], names[n + 2], names[n + 3] = 'rules', 'group_paused_until', 'failures'
names[n + 4], names[n + 5], names[n + 6], names[n + 7] = 'failing', 'letters_from', 'hanging', 'layout'
local annotations, changed_at, created_at
if asked >= 2 then
  names[n + 8], names[n + 9], names[n + 10] = 'created_at', 'changed_at', 'annotations'
end
local stored = redis.call('HMGET', keys[QUEUE], unpack(names))
if asked >= 2 then
  annotations, changed_at, created_at = table.remove(stored), table.remove(stored), table.remove(stored)
end
local layout = table.remove(stored)
check_layout(layout)
local hanging, hanging_state = hanging_delivery(table.remove(stored) or nil)
local letters_from = table.remove(stored)
local failing, failing_at = read_failing(table.remove(stored) or nil)
local failed = read_failures(table.remove(stored) or nil)
local has_paused, rules = table.remove(stored), table.remove(stored)
for i, value in ipairs(stored) do
  know(names[i], value)
end
local ready = redis.call('ZCARD', keys[READY])
local delayed = redis.call('ZCARD', keys[DELAYED])
local oldest, expired, died = -1, setting('expired'), setting('died')
local function may_be_oldest(at)
  oldest = (oldest < 0 or at < oldest) and at or oldest
end

-- Messages past their ttl are in `ready`, `order` and `delayed`, and do not count there.
local gone, is_gone = { [keys[READY]] = 0, [keys[ORDER]] = 0, [keys[DELAYED]] = 0 }, {}
local gone_due, has_timed = 0, redis.call('ZCOUNT', keys[GROUPS], '-' .. instant, '(0') > 0
if has_timed then -- the functions that find them are made only here
  for _, m in ipairs(past_ttl('250')) do
    is_gone[m.member], gone[m.place] = true, gone[m.place] + 1
    gone_due = gone_due + (m.place == keys[DELAYED] and m.at <= now and 1 or 0)
    expired = expired + 1
  end
end

-- first_score(key, from): the score of the first message from `from` on that counts.
local function first_score(key, from)
  local most = format('%d', 1 + gone[key])
  local flat, at = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', '0', most, 'WITHSCORES'), 1
  while is_gone[flat[at]] do
    at = at + 2
  end
  return tonumber(flat[at + 1])
end

-- oldest_blocked(): when the oldest of the blocked messages was sent.
local function oldest_blocked()
  local from, oldest = '-', -1
  for _ = 1, 50 do
    local member = redis.call('ZRANGE', keys[ORDER], from, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
    local group, sent_at = (member or ''):match('^(%Z*)%z%d(%d%d%d%d%d%d%d%d%d%d%d%d%d)')
    if not group then
      break
    end
    oldest = (oldest < 0 or sent_at + 0 < oldest) and sent_at + 0 or oldest
    from = '(' .. group .. PAST_PLACES
  end
  return oldest
end

-- The oldest is the first message of one of the priorities.
local priority = 0
while ready > gone[keys[READY]] and priority <= 9 do
  local score = first_score(keys[READY], format('%d', priority * 1e13))
  if not score then
    break
  end
  priority = math.floor(score / 1e13) + 1
  may_be_oldest(math.floor(score % 1e13))
end
local due_now = delayed > 0 and redis.call('ZCOUNT', keys[DELAYED], '-inf', instant) or 0
if due_now > gone_due then
  may_be_oldest(first_score(keys[DELAYED], '0'))
end
local blocked = redis.call('ZCARD', keys[ORDER]) - gone[keys[ORDER]]
ready = ready - gone[keys[READY]] + due_now - gone_due
delayed = delayed - gone[keys[DELAYED]] - due_now + gone_due
local kept_since = now - setting('dead_retention_ms')
local in_flight = redis.call('ZCOUNT', keys[FLIGHT], '(' .. instant, '+inf')
local dead = redis.call('ZCOUNT', keys[DEAD], '(' .. format('%d', kept_since), '+inf')
local ended_count = redis.call('ZCOUNT', keys[FLIGHT], '0', instant)
local ended, timed_out, last = ended_deliveries('250'), 0, failed.last
failing = still_failing(failing, failing_at, rules)
local retrying = failed.retrying + 0
if retrying > 0 and due_now > 0 then
  retrying = math.max(retrying - retried_of(due_page('250')), 0)
end
for _, m in ipairs(ended) do
  if m.state == 'due' and m.at > now then
    delayed = delayed + 1
  elseif m.state == 'due' then
    ready = ready + 1
    may_be_oldest(m.at)
  elseif m.state == 'dead' then
    dead, died = dead + (m.at > kept_since and 1 or 0), died + 1
  elseif not m.lost then
    expired = expired + 1
  end
  if not m.lost then
    timed_out, failing, last = timed_out + 1, math.max(failing + (last == m.seq and 0 or 1), 1), m.seq
  end
  retrying = retrying + (m.state == 'due' and m.at > now and 1 or 0)
end
ready = ready + ended_count - #ended
local reply = {
  0, now, ready, blocked, delayed, in_flight, dead, oldest, expired, setting('sent'), died,
}
add_settings(reply, rules)
reply[#reply + 1] = setting('schedule_at') < math.huge and setting('schedule_at') or -1
local has_due_schedule = setting('schedule_at') <= now and paused_setting() == 0
local needs_settling = has_due_schedule or has_timed or due_now > 0 or ended_count > 0
  or (rules or has_paused) and redis.call('ZCOUNT', keys[GROUPS], '0', instant) > 0
if asked % 2 == 0 and needs_settling then
  return { -1, now, asked + 1 }
end
-- An acknowledgement is in flight by the instant until which it is remembered.
local forgotten_from = now + math.max(REMEMBERED_MS, result_ms_of(rules))
local acknowledged = redis.call('ZCOUNT', keys[FLIGHT], '-' .. format('%d', forgotten_from),
  '(-' .. format('%d', forgotten_from - WINDOW_MS))
for _, value in ipairs({
  retrying, failed.rejected + 0, failed.timed_out + timed_out, math.ceil(failed_lately(failed)) + timed_out,
  acknowledged, failing, failed.last_at + 0, hanging or '', hanging_state or '', blocked > 0 and oldest_blocked() or -1,
  unpack(failed_messages(failed, kept_since)),
}) do
  reply[#reply + 1] = value
end
n = #reply
reply[n + 1], reply[n + 2] = layout and 1 or redis.call('EXISTS', keys[QUEUE]), letters_from or ''
reply[n + 3], reply[n + 4] = (created_at or 0) + 0, (changed_at or created_at or 0) + 0
if annotations then
  annotations = cmsgpack.unpack(annotations)
  for i = 1, #annotations, 2 do
    reply[#reply + 1] = { annotations[i], annotations[i + 1] }
  end
end
return reply
