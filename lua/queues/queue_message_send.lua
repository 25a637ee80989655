-- queue_message_send: stores a batch of messages, all of them or none. A message whose id is taken
-- is a duplicate, and is not stored again.
-- KEYS  the keys of a queue (queues/lib_queue.lua), two for each message with a dedupe id
--       (queues/lib_queue_dedupe.lua), and the index of names (lib/made.lua)
-- ARGV  three per message: id ('': one is made), body (as it is stored after the header), and its
--       options: priority 0..9 alone, or, with tabs between, also delay_ms (-1: the queue's),
--       deliver_at_ms (-1: delay_ms counts; in the past: now), ttl_ms (0: the queue's, -1: none),
--       max_receives (0: the queue's), backoff ('': the queue's; or base_ms, a colon and max_ms),
--       on_duplicate ('': keep; here also 'd': it has a dedupe id, 'b': it is made of the body),
--       group ('': none). After all messages, in one argument and separated by blanks: 'exists'
--       when the queue must exist; 'sized=' and a number, which no message exceeds in bytes;
--       'results' when the result of a single message is awaited; 'room' when the sender may wait
--       for room, and its ticket (lib/waiters.lua), how long it may still wait, ms (0: this is its
--       last try), and how long it has waited, us
--@reply 0..: messages [queue_sent]...
--@reply -1 past_ttl: index int
--@reply -2 no_results
--@reply -3 full: max_messages int, ready int, blocked int, delayed int, in_flight int, count int,
-- is_waiting int, look_at_ms int
--@reply -4 unsettled
--@reply -5 absent
--@reply -6 no_dedupe_by_body: index int
--@reply -7 too_large: most int
--@shape queue_sent: id text, outcome int, deliver_at_ms int, sequence text...
-- The outcome of the reply is how many were stored. The outcome of a message is 0 stored, 1 kept (a
-- duplicate) or 5 kept_dead (of a dead letter); for queue_message_supersede also 2 replaced, 3
-- extended, 4 after. The deliver_at_ms of a duplicate is the deliver_at_ms of the first message. It
-- is 0 while that message is in flight, and when it will not be delivered any more (dead,
-- acknowledged). The sequence of a duplicate is the sequence of the first message, '' if it is not
-- known any more. A new message without an id has none here: its id is its sequence.
-- past_ttl: the message at index (from 0) would be past its ttl before it is due; nothing is
-- stored.
-- no_results: the result is awaited, and the queue has no result_ms; nothing is stored.
-- full: max_messages leaves no room for all of them; nothing is stored. count is how many are not
-- duplicates. is_waiting is 1 for a sender that still waits; it should try again at look_at_ms
-- (-1: when it is notified).
-- unsettled: there may be room once queue_settle has been called; nothing is stored.
-- absent: the queue must exist, and does not; nothing is stored.
-- no_dedupe_by_body: the message at index has a dedupe id made of its body, and the queue does not
-- allow that; nothing is stored.
-- too_large: a message may have more than `most` bytes, max_message_bytes; nothing is stored. Its
-- sender knows the size, and may send again with `sized`.
-- Errors: WRONGTYPE, nothing stored. O(messages * log(queue)).
--@idempotent
--@plain
-- Messages without options for a queue that exists, without rules, and without a waiting receiver.
-- One that is sent alone may have an id and a delay.
local given, given_options = ARGV[1], ARGV[3]
local is_plain, is_alone, count = #ARGV % 3 == 0, #ARGV == 3, #ARGV
if not is_plain and ARGV[count] == 'exists' then -- a queue that has messages exists
  is_plain, is_alone, count = true, count == 4, count - 1
end
local delay_ms = is_alone and #given_options > 1 and given_options:match('^%d\t(%d+)\t%-1\t0\t0\t\t\t$')
for i = 3, is_plain and count or 0, 3 do
  is_plain = is_plain and (#ARGV[i] == 1 or delay_ms) and #ARGV[i - 1] + #ARGV[i - 2] < SMALL - 100
    and (ARGV[i - 2] == '' or is_alone)
end
known = redis.call('HMGET', KEYS[QUEUE], 'seq', 'sent', 'layout', 'rules', 'group_paused_until')
local last, instant = tonumber(known[1] or ''), format('%d', now)
is_plain = is_plain and last and known[3] == LAYOUT and not (known[4] and known[4]:find(' ', 1, true))
known.waiters = redis.call('ZCARD', KEYS[WAITERS])
if is_plain and known.waiters == 0 then
  last = last > now_us and last or now_us
  local at, fields, members, ids, answer, options = now + (delay_ms or 0), {}, {}, {}, { 0, now }, '\n'
  if given ~= '' or delay_ms then
    options = '\t0\t0\t' .. given .. '\t\t\n'
  end
  for i = 1, count, 3 do
    local priority, seq, n = delay_ms and given_options:sub(1, 1) or ARGV[i + 2], format('%d', last + 1), #members
    last = last + 1
    fields[n + 1], fields[n + 2] = seq, instant .. priority .. options .. ARGV[i + 1]
    members[n + 1], members[n + 2] = at > now and format('%d', at) or priority .. instant, priority .. seq
    ids[#ids + 1] = given ~= '' and given or seq
    answer[#answer + 1] = { ids[#ids], 0, at, given ~= '' and seq or nil }
  end
  local n, is_free = #fields, given == '' or #given ~= 16 or given:find('%D')
  for _, holder in ipairs(redis.call('HMGET', KEYS[IDS], unpack(ids))) do
    is_free = is_free and not holder
  end
  if is_free and (given == '' or not redis.call('ZMSCORE', KEYS[DONE], given)[1]) then
    fields[n + 1], fields[n + 2], fields[n + 3] = 'seq', format('%d', last), 'sent'
    fields[n + 4] = format('%d', (known[2] or 0) + #ids)
    redis.call('ZADD', KEYS[at > now and DELAYED or READY], unpack(members))
    redis.call('HSET', KEYS[QUEUE], unpack(fields))
    if given ~= '' then
      redis.call('HSET', KEYS[IDS], given, fields[1])
    end
    answer[1] = #ids
    reply = answer
  end
end
--@operation
local settings = known or redis.call('HMGET', keys[QUEUE], 'seq', 'sent', 'layout', 'rules', 'group_paused_until')
local is_awaited = (settings.waiters or redis.call('ZCARD', keys[WAITERS])) > 0
check_layout(settings[3])
local room_request
local more = #ARGV % 3 == 1 and table.remove(ARGV) or ''
if more ~= '' then
  room_request = more:match('room (.*)$')
  local refusal = option_refusal(more, settings[4], settings[1])
  if refusal then
    return { refusal, now }
  end
end
local last = math.max(tonumber(settings[1] or 0) or foreign('a hash that is not a queue'), now_us)

-- The sequences, and which of the ids are taken. A sequence may be an id that a sender gave.
local seqs, ids, has_given = {}, {}, false
for i = 1, #ARGV, 3 do
  last = last + 1
  local seq = format('%d', last)
  seqs[#seqs + 1] = seq
  has_given = has_given or ARGV[i] ~= ''
  ids[#seqs] = ARGV[i] ~= '' and ARGV[i] or seq
end
local holders = redis.call('HMGET', keys[IDS], unpack(ids))
local remembered = has_given and redis.call('ZMSCORE', keys[DONE], unpack(ids)) or {}

queue.rules_text, queue.rules = settings[4], settings[4] and read_rules(settings[4])
local of_queue = queue.rules or {}
local oversize = size_refusal(more)
if oversize then
  return oversize
end
local has_defaults = of_queue.delay_ms or of_queue.ttl_ms
local dedupes = KEYS[QUEUE_KEYS + 1] ~= nil
if dedupes then
  dedupe_begin(seqs[1])
end
local stored_at, stored_as = {}, {} -- id to deliver_at_ms and sequence, of this batch
local drops, has_leapt = false, false
local reply = { 0, now }
local ready, delayed, fields, given, joining, timed = {}, {}, {}, {}, nil, nil
for k, id in ipairs(ids) do
  local i = 3 * k - 2
  local is_given, seq, kept = ARGV[i] ~= '', seqs[k], 1
  local taken_at, first = is_given and stored_at[id], stored_as[id] or ''
  local mark, group_of_mark = nil, nil
  if dedupes then
    mark, group_of_mark = ARGV[i + 2]:match('\t([db])\t([^\t]*)$')
  end
  if mark == 'b' and not of_queue.dedupe_by_body then
    return { -6, now, k - 1 }
  end
  local earlier = mark and dedupe_first(group_of_mark)
  if earlier then
    id, taken_at, first = earlier.id, earlier.at, earlier.seq
  end
  if is_given and not taken_at and tonumber(remembered[k] or 0) > now then
    taken_at = 0
  elseif is_given and not taken_at and (holders[k] or remembered[k] or (#id == 16 and not id:find('%D'))) then
    local m, state = find(id)
    if m and state == 'expired' then
      drop_found(m)
      drops = true
    elseif m then
      taken_at, kept, first = state == 'due' and m.at or 0, state == 'dead' and 5 or 1, m.seq
    elseif remembered[k] then
      plan('ZREM', keys[DONE], id)
      drops = true
    end
  end
  if taken_at then
    reply[#reply + 1] = { id, kept, taken_at, first }
  else
    -- If a sequence is a taken id, it leaps ahead, and so do all that follow, to stay behind it.
    has_leapt = has_leapt or not is_given and (holders[k] or stored_at[id])
    if has_leapt then
      last, seq = leap(last, stored_at)
      id = is_given and id or seq
    end
    local options, at, group, header = ARGV[i + 2], now, '', nil
    local priority = options:sub(1, 1)
    if #options == 1 and not is_given and not has_defaults then
      header = instant .. priority .. '\n'
    else
      local delay_ms, deliver_at, ttl_ms, max_receives, backoff = '-1', -1, 0, '0', ''
      if #options > 1 then
        delay_ms, deliver_at, ttl_ms, max_receives, backoff, group =
          options:match('\t(-?%d+)\t(-?%d+)\t(-?%d+)\t(%d+)\t([%d:]*)\t[db]?\t(.*)$')
        deliver_at, ttl_ms = tonumber(deliver_at), tonumber(ttl_ms)
      end
      if has_defaults and ttl_ms == 0 then
        ttl_ms = of_queue.ttl_ms or 0
      end
      at = deliver_at >= 0 and math.max(deliver_at, now)
        or now + (delay_ms ~= '-1' and delay_ms or of_queue.delay_ms or 0)
      if ttl_ms > 0 and at >= now + ttl_ms then
        return { -1, now, k - 1 }
      end
      local expires = '0'
      if ttl_ms > 0 then
        timed, expires = timed or {}, format('%d', now + ttl_ms)
        timed[#timed + 1], timed[#timed + 2] = '-' .. expires, 't' .. seq
      end
      header = instant .. priority .. '\t' .. expires .. '\t' .. max_receives .. '\t' .. ARGV[i] ..
        '\t' .. group .. '\t' .. backoff .. '\n'
    end
    local content = header .. ARGV[i + 1]
    local size = #content > SMALL and 'b' or group ~= '' and '-' or ''
    local member = priority .. seq .. size .. group
    if at > now then
      delayed[#delayed + 1] = format('%d', at)
      delayed[#delayed + 1] = member
    elseif group ~= '' then
      joining = joining or {}
      joining[#joining + 1] = group
      joining[#joining + 1] = priority .. seq .. size
    else
      ready[#ready + 1] = priority .. instant
      ready[#ready + 1] = member
    end
    fields[#fields + 1] = seq
    fields[#fields + 1] = content
    if #content > SMALL then -- so that scripts that remove it need not read it
      fields[#fields + 1] = seq .. 's'
      fields[#fields + 1] = '----------------0000000000000' .. priority .. 'b0' ..
        (#header > 15 and header:sub(15, -2) .. '\t\t\t\t' or '')
    end
    if is_given then
      given[#given + 1] = id
      given[#given + 1] = seq
    end
    stored_at[id], stored_as[id] = at, seq
    if mark then
      dedupe_keep(seq, id, group, at)
    end
    reply[1] = reply[1] + 1
    reply[#reply + 1] = { id, 0, at, is_given and seq or nil }
  end
end
if reply[1] == 0 then
  return reply
end

local blocked, marks, waiting = {}, {}, {}
queue.group_paused_until = tonumber(settings[5] or 0)
if joining then
  waiting = join_groups(joining, drops, ready, blocked, marks)
  if waiting[1] then
    check_groups()
  elseif blocked[1] and (ready[1] or delayed[1]) then
    redis.call('ZCARD', keys[ORDER])
  end
end
if queue.rules and queue.rules.max_messages then
  local refusal = room_refusal(reply[1], room_request)
  if refusal then
    return refusal
  end
end
is_awaited = is_awaited and (ready[1] or delayed[1] or waiting[1] or drops)
if is_awaited then -- the keys that serving them reads
  redis.call('ZCARD', keys[READY])
  redis.call('ZCARD', keys[DELAYED])
  redis.call('ZCARD', keys[FLIGHT])
  queue.waiting = waiters_read(keys[QUEUE], keys[WAITERS], now, '')
end
append(fields, 'seq', format('%d', last))
append(fields, 'sent', format('%d', (settings[2] or 0) + reply[1]))
if not settings[1] then
  append(fields, 'layout', LAYOUT)
  append(fields, 'wide', WIDE)
  if not settings[3] then
    append(fields, 'created_at', instant)
  end
end
if drops or timed or (ready[1] and delayed[1]) or waiting[1] then
  check_types()
end
if timed then
  redis.call('ZCARD', keys[GROUPS])
end
commit(true)
if ready[1] then -- the first write: its key may have another type
  redis.call('ZADD', keys[READY], unpack(ready))
end
if delayed[1] then
  redis.call('ZADD', keys[DELAYED], unpack(delayed))
end
if blocked[1] then
  redis.call('ZADD', keys[ORDER], unpack(blocked))
end
if marks[1] then
  redis.call('ZADD', keys[BUSY], unpack(marks))
end
redis.call('HSET', keys[QUEUE], unpack(fields))
if timed then
  redis.call('ZADD', keys[GROUPS], unpack(timed))
end
if given[1] then
  redis.call('HSET', keys[IDS], unpack(given))
end
if dedupes then
  dedupe_write()
end
if not settings[1] then
  made = { keys[QUEUE] }
end
for _, group in ipairs(waiting) do
  promote(group)
end
write_planned()
if is_awaited then
  serve_waiters()
end
serve_senders()
return reply
