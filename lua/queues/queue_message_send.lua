-- queue_message_send: stores a batch of messages, all of them or none. A message whose id is taken
-- is a duplicate, and is not stored again.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/names.lua)
-- ARGV  three per message: id ('': one is made), body (as it is stored after the header), and its
--       options: priority 0..9 alone, or, with tabs between, also delay_ms, deliver_at_ms (-1:
--       delay_ms counts; in the past: now), ttl_ms (0: none), max_receives (0: the queue's),
--       backoff ('': the queue's; or base_ms, a colon and max_ms), on_duplicate ('': keep), group
--       ('': none). After a single message: 'results' when its result is awaited. After all
--       messages: 'room' when the sender may wait for room, and, after blanks, its ticket
--       (lib/waiters.lua), how long it may still wait, ms (0: this is its last try), and how long
--       it has waited, us
--@reply 0..: messages [queue_sent]...
--@reply -1 past_ttl: index int
--@reply -2 no_results
--@reply -3 full: max_messages int, ready int, blocked int, delayed int, in_flight int, count int,
-- is_waiting int, look_at_ms int
--@reply -4 unsettled
--@shape queue_sent: id text, outcome int, deliver_at_ms int
-- The outcome of the reply is how many were stored. The outcome of a message is 0 stored, 1 kept (a
-- duplicate) or 5 kept_dead (of a dead letter); for queue_message_supersede also 2 replaced, 3
-- extended, 4 after. The deliver_at_ms of a duplicate is the deliver_at_ms of the first message. It
-- is 0 while that message is in flight, and when it will not be delivered any more (dead,
-- acknowledged).
-- past_ttl: the message at index (from 0) would be past its ttl before it is due; nothing is
-- stored.
-- no_results: the result is awaited, and the queue has no result_ms; nothing is stored.
-- full: max_messages leaves no room for all of them; nothing is stored. count is how many are not
-- duplicates. is_waiting is 1 for a sender that still waits; it should try again at look_at_ms
-- (-1: when it is notified).
-- unsettled: there may be room once queue_settle has been called; nothing is stored.
-- Errors: WRONGTYPE, nothing stored. O(messages * log(queue)).
--@include time names queue
--@idempotent
local settings = redis.call('HMGET', queue_key, 'seq', 'sent', 'layout', 'rules', 'group_paused_until')
local layout = settings[3]
--@include queue_layout
local room_request
if #ARGV % 3 == 1 then
  room_request = ARGV[#ARGV]:match('^room (.*)$')
  ARGV[#ARGV] = nil
  if room_request then
    -- decided below
  elseif not settings[4] or not settings[4]:find('^result_ms=[1-9]') then
    return { -2, now }
  end
end
local is_awaited = redis.call('ZCARD', waiters_key) > 0
local last = tonumber(settings[1] or 0)
  or error(redis.error_reply('WRONGTYPE ' .. queue_key .. ' holds a hash that is not a queue'))
last = math.max(last, clock[1] * 1000000 + clock[2])

-- The sequences, and which of the ids are taken. A sequence may be an id that a sender gave.
local seqs, ids, has_given = {}, {}, false
for i = 1, #ARGV, 3 do
  last = last + 1
  local seq = digits(last)
  seqs[#seqs + 1] = seq
  has_given = has_given or ARGV[i] ~= ''
  ids[#seqs] = ARGV[i] ~= '' and ARGV[i] or seq
end
local holders = redis.call('HMGET', ids_key, unpack(ids))
local remembered = has_given and redis.call('ZMSCORE', done_key, unpack(ids)) or {}

local stored_at = {} -- id to deliver_at_ms, of this batch
local drops, has_leapt = false, false
local reply = { 0, now }
local ready, delayed, fields, given, joining, timed = {}, {}, {}, {}, nil, nil
for k, id in ipairs(ids) do
  local i = 3 * k - 2
  local is_given, seq, kept = ARGV[i] ~= '', seqs[k], 1
  local taken_at = is_given and stored_at[id]
  if is_given and not taken_at and tonumber(remembered[k] or 0) > now then
    taken_at = 0
  elseif is_given and not taken_at and (holders[k] or remembered[k] or (#id == 16 and not id:find('%D'))) then
    -- Few ids are taken, so the functions that find their messages are made only here.
--@include queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_find
    local m, state = find(id)
    if m and state == 'expired' then
      drop(m)
      drops = drops or {}
      -- Blocked messages are removed first, before the end of another one makes them ready.
      table.insert(drops, m.place == order_key and 1 or #drops + 1, commit)
    elseif m then
      taken_at, kept = state == 'due' and m.at or 0, state == 'dead' and 5 or 1
    elseif remembered[k] then
      plan('ZREM', done_key, id)
      drops = drops or {}
      drops[#drops + 1] = commit
    end
  end
  if taken_at then
    reply[#reply + 1] = { id, kept, taken_at }
  else
    -- If a sequence is a taken id, it leaps ahead, and so do all that follow, to stay behind it.
    has_leapt = has_leapt or not is_given and (holders[k] or stored_at[id])
    if has_leapt then
--@include queue_leap
      last, seq = leap(last, stored_at)
      id = is_given and id or seq
    end
    local options, at, group, header = ARGV[i + 2], now, '', nil
    local priority = options:sub(1, 1)
    if #options == 1 and not is_given then
      header = instant .. priority .. '\n'
    else
      local delay_ms, deliver_at, ttl_ms, max_receives, backoff = 0, -1, 0, '0', ''
      if #options > 1 then
        delay_ms, deliver_at, ttl_ms, max_receives, backoff, group =
          options:match('\t(%d+)\t(-?%d+)\t(%d+)\t(%d+)\t([%d:]*)\t\t(.*)$')
        deliver_at, ttl_ms = tonumber(deliver_at), tonumber(ttl_ms)
        at = deliver_at < 0 and now + delay_ms or math.max(deliver_at, now)
        if ttl_ms > 0 and at >= now + ttl_ms then
          return { -1, now, k - 1 }
        end
      end
      local expires = '0'
      if ttl_ms > 0 then
        timed, expires = timed or {}, digits(now + ttl_ms)
        timed[#timed + 1], timed[#timed + 2] = '-' .. expires, 't' .. seq
      end
      header = instant .. priority .. '\t' .. expires .. '\t' .. max_receives .. '\t' .. ARGV[i] ..
        '\t' .. group .. '\t' .. backoff .. '\n'
    end
    local content = header .. ARGV[i + 1]
    local size = #content > SMALL and 'b' or group ~= '' and '-' or ''
    local member = priority .. seq .. size .. group
    if at > now then
      delayed[#delayed + 1] = digits(at)
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
    stored_at[id] = at
    reply[1] = reply[1] + 1
    reply[#reply + 1] = { id, 0, at }
  end
end
if reply[1] == 0 then
  return reply
end

local promote_touched
local blocked, marks = {}, {}
if joining then
--@include queue_join
  if touched[1] then
    check_groups()
  elseif blocked[1] and (ready[1] or delayed[1]) then
    redis.call('ZCARD', order_key)
  end
  promote_touched = touched[1] and function()
    for _, group in ipairs(touched) do
      promote(group)
    end
    write_planned()
  end
end
local serve_room_later
if settings[4] and settings[4]:find(' ', 1, true) then
--@include queue_rules
  local rules, room_wanted = read_rules(settings[4]), reply[1]
  if rules.max_messages then
--@include queue_room_send
  end
end

local serve_waiters
is_awaited = is_awaited and (ready[1] or delayed[1] or promote_touched)
if is_awaited then -- the keys that serving them reads
  redis.call('ZCARD', ready_key)
  redis.call('ZCARD', delayed_key)
  redis.call('ZCARD', flight_key)
--@include waiters queue_serve
  local w = waiters_read(queue_key, waiters_key, now, '')
  serve_waiters = function()
    waiters_settle(w)
    serve(w)
  end
end
fields[#fields + 1] = 'seq'
fields[#fields + 1] = digits(last)
fields[#fields + 1] = 'sent'
fields[#fields + 1] = digits((settings[2] or 0) + reply[1])
if not settings[1] then
  fields[#fields + 1] = 'layout'
  fields[#fields + 1] = LAYOUT
end
if drops or timed or (ready[1] and delayed[1]) or promote_touched then
--@include queue_types
  check_types()
end
if timed then
  redis.call('ZCARD', groups_key)
end
if drops then
  for _, commit in ipairs(drops) do
    commit()
  end
end
if ready[1] then -- the first write: its key may have another type
  redis.call('ZADD', ready_key, unpack(ready))
end
if delayed[1] then
  redis.call('ZADD', delayed_key, unpack(delayed))
end
if blocked[1] then
  redis.call('ZADD', order_key, unpack(blocked))
end
if marks[1] then
  redis.call('ZADD', busy_key, unpack(marks))
end
redis.call('HSET', queue_key, unpack(fields))
if timed then
  redis.call('ZADD', groups_key, unpack(timed))
end
if given[1] then
  redis.call('HSET', ids_key, unpack(given))
end
if not settings[1] then
  name_made(queue_key)
end
if promote_touched then
  promote_touched()
end
if is_awaited then
  serve_waiters()
end
if serve_room_later then
  serve_room_later()
end
return reply
