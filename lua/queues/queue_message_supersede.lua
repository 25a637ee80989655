-- queue_message_supersede: queue_message_send for a batch in which a message may change an earlier
-- message with its id (on_duplicate).
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/made.lua)
-- ARGV  as for queue_message_send
--@reply 0..: messages [queue_sent]...
--@reply -1 past_ttl: index int
--@reply -2 no_results
--@reply -3 full: max_messages int, ready int, blocked int, delayed int, in_flight int, count int,
-- is_waiting int, look_at_ms int
--@reply -4 unsettled
--@reply -5 absent
--@reply -7 too_large: most int
-- The outcome is how many had an effect. A message in flight is kept, unless the new one waits for
-- its end ('e', 'a'). If the id of an acknowledged message is remembered, a message without
-- on_duplicate is a duplicate, and any other message is stored. A dead letter is replaced; with 'e'
-- or 'a' it gives up its id. A message that is extended keeps its sequence, group and sent_at, and
-- its receives if it was delivered before.
-- Errors: WRONGTYPE, nothing stored. O(messages * log(queue)).
--@idempotent
local STORED, KEPT, REPLACED, EXTENDED, AFTER, KEPT_DEAD = 0, 1, 2, 3, 4, 5
local reply = { 0, now }
check_types()
local room_request
local more = #ARGV % 3 == 1 and table.remove(ARGV) or ''
if more ~= '' then
  room_request = more:match('room (.*)$')
  local refusal = option_refusal(more, queue.rules_text, nil)
  if refusal then
    return { refusal, now }
  end
end
local oversize = size_refusal(more)
if oversize then
  return oversize
end
if queue.rules and queue.rules.max_messages then
  -- A message needs room if it is stored, and none that counts is gone or changed for it.
  local counts, states, room_wanted = { due = true, blocked = true, in_flight = true }, {}, 0
  for i = 1, #ARGV, 3 do
    local id, over = ARGV[i], ARGV[i + 2]:match('\t(%a?)[^\t]*\t[^\t]*$') or ''
    if id ~= '' and not states[id] then
      states[id] = select(2, find(id)) or 'none'
      local is_remembered = states[id] ~= 'dead' and tonumber(redis.call('ZSCORE', keys[DONE], id) or 0) > now
      states[id] = is_remembered and not counts[states[id]] and 'remembered' or states[id]
    end
    local keeps = over == '' and (states[id] == 'remembered' or states[id] == 'dead')
    if id == '' or not counts[states[id]] and not keeps then
      room_wanted, states[id] = room_wanted + 1, 'due'
    end
  end
  local refusal = room_refusal(room_wanted, room_request)
  if refusal then
    return refusal
  end
end
read_store()
read_waiters()

-- message_of(id, options): a message as it was sent, with `over`, its on_duplicate, and `most`, its
-- max_extend_ms; nil when it would be past its ttl before it is due.
local function message_of(id, options)
  local m = {
    sent_at = now, priority = options:sub(1, 1), expires_at = 0, max_receives = 0, id = id, group = '', backoff = '',
    marks = '', progress = '', nonce = NO_NONCE, ends = NO_END, receives = 0, worker = '', reason = '', at = now,
    over = '',
  }
  local of_queue, delay_ms, deliver_at, ttl_ms, max_receives = queue.rules or {}, -1, -1, 0, 0
  if #options > 1 then
    delay_ms, deliver_at, ttl_ms, max_receives, m.backoff, m.over, m.group =
      options:match('\t(-?%d+)\t(-?%d+)\t(-?%d+)\t(%d+)\t([%d:]*)\t([^\t]*)\t(.*)$')
    delay_ms, deliver_at, ttl_ms, m.max_receives =
      tonumber(delay_ms), tonumber(deliver_at), tonumber(ttl_ms), tonumber(max_receives)
  end
  delay_ms = delay_ms >= 0 and delay_ms or of_queue.delay_ms or 0
  ttl_ms = ttl_ms ~= 0 and ttl_ms or of_queue.ttl_ms or 0
  m.at = deliver_at < 0 and now + delay_ms or math.max(deliver_at, now)
  m.most = tonumber(m.over:sub(2))
  if m.most then
    m.at = math.min(m.at, now + m.most)
  end
  if ttl_ms > 0 then
    m.expires_at = now + ttl_ms
  end
  return (m.expires_at == 0 or m.at < m.expires_at) and m or nil
end

-- find_now(id): the message with this id, and its state, once the changes by time are settled.
local function find_now(id)
  local there, state = find(id)
  if there and there.place == keys[FLIGHT] and state ~= 'in_flight' then
    there.state = state
    settle_ended_delivery(there)
  elseif there and state == 'expired' then
    drop_found(there)
  else
    return there, state
  end
  commit(true)
  return find_now(id)
end

-- limit_extension(m, first_at): m is due at most max_extend_ms after the first was sent.
local function limit_extension(m, first_at)
  if m.most then
    m.at = math.max(math.min(m.at, first_at + m.most), now)
  end
end

-- extend(there, m, body): plans that an earlier message that is not delivered becomes this one. If
-- it was delayed, it is due when this one would be; otherwise it stays due.
local function extend(there, m, body)
  if there.at > now then
    limit_extension(m, there.sent_at)
  else
    m.at = there.at
  end
  if has_mark(there, 'a') then -- the message that waits is older than this one
    plan('HDEL', keys[QUEUE], '~' .. m.id)
  end
  m.seq, m.sent_at, m.group, m.receives = there.seq, there.sent_at, there.group, there.receives
  m.worker, m.reason, m.place, m.member = there.worker, there.reason, there.place, there.member
  local content = header_of(m) .. body
  m.size = #content > SMALL and 'b' or '-'
  plan('HSET', keys[QUEUE], m.seq, content)
  if there.expires_at > 0 then
    plan('ZREM', keys[GROUPS], 't' .. m.seq)
  end
  plan_ttl(m)
  put_due(m)
end

-- wait_for_end(there, m, body): plans that this message waits for the end of the earlier one, and
-- replaces one that waits already, which it may extend.
local function wait_for_end(there, m, body)
  local waiting = m.over:sub(1, 1) == 'e' and has_mark(there, 'a') and redis.call('HGET', keys[QUEUE], '~' .. m.id)
  if waiting then
    m.sent_at = read_header(waiting:match('^%d+\n(.*)$')).sent_at
    limit_extension(m, m.sent_at)
  end
  plan('HSET', keys[QUEUE], '~' .. m.id, format('%d', m.at) .. '\n' .. header_of(m) .. body)
  if not has_mark(there, 'a') then
    there.marks = there.marks .. 'a'
    plan('HSET', keys[QUEUE], there.seq .. 's', state_of(there))
  end
end

-- send(m, body): plans what becomes of a message. Returns that, when it is due (0: unknown), and
-- the sequence of the earlier message that stays.
local function send(m, body)
  local there, state
  if m.id ~= '' then
    there, state = find_now(m.id)
  end
  local remembered_until = m.id ~= '' and not there and redis.call('ZSCORE', keys[DONE], m.id)
  if remembered_until and m.over == '' and tonumber(remembered_until) > now then
    return KEPT, 0, ''
  elseif not there then
    if remembered_until then
      plan('ZREM', keys[DONE], m.id)
    end
    store(m, body)
    return STORED, m.at
  end
  local over, is_due = m.over:sub(1, 1), state == 'due'
  local waits = over == 'e' or over == 'a'
  if over == 'r' and state ~= 'in_flight' then
    forget(there)
    store(m, body)
    return REPLACED, m.at
  elseif over == 'e' and (is_due or state == 'blocked') then
    extend(there, m, body)
    return EXTENDED, m.at, m.seq
  elseif waits and (state == 'in_flight' or has_mark(there, 'a')) then
    wait_for_end(there, m, body)
    return AFTER, 0, there.seq
  elseif waits and state == 'dead' then
    give_up_id(there)
    plan('HSET', keys[QUEUE], there.seq .. 's', state_of(there))
    store(m, body)
    return STORED, m.at
  end
  return state == 'dead' and KEPT_DEAD or KEPT, is_due and there.at or 0, there.seq
end

local messages = {}
for i = 1, #ARGV, 3 do
  local m = message_of(ARGV[i], ARGV[i + 2])
  if not m then
    return { -1, now, (i - 1) / 3 }
  end
  messages[#messages + 1] = m
end
local is_planned, is_new = {}, queue.stored.is_new
for k, m in ipairs(messages) do
  if is_planned[m.id] then -- by an earlier one of this batch
    commit(true)
  end
  is_planned[m.id] = m.id ~= ''
  local became, at, first = send(m, ARGV[3 * k - 1])
  reply[1] = reply[1] + ((became == KEPT or became == KEPT_DEAD) and 0 or 1)
  reply[#reply + 1] = { m.id ~= '' and m.id or m.seq, became, at, first or m.seq }
end
if reply[1] > 0 then
  plan_stored()
end
commit(true)
if is_new then
  made = { keys[QUEUE] }
end
serve_waiters()
serve_senders()
return reply
