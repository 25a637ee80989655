-- What the queue scripts share: the keys by name, settings, a message's record, the plan of writes,
-- what those who wait are told. Wants lib/time.lua and lib/wake.lua.
--
-- KEYS, the same in every queue script:
--   1      p:queue:{name}         hash: the settings that were PUT, seq (the last one given), expired (dropped for ttl)
--   2..11  ...:due:0 to ...:due:9 sorted sets, one a priority: sequence by due_ms; ready once that
--          has come, or delayed
--   12     ...:flight             sorted set: sequence by visible_until_ms
--   13     ...:dead               sorted set: sequence by died_at_ms
--   14     ...:meta               hash: sequence to record (below)
--   15     ...:body               hash: sequence to body as JSON text, behind traceparent and
--          headers where the sender gave them (handlers/queues/queue_content.h); no script reads it
--   16     ...:ids                hash: id given by a sender to its sequence, '' once the message is acknowledged
--   17     ...:done               sorted set: what is remembered, by the instant until which: the id of an acknowledged
--                                 message, and, below 0, an acknowledgement: sequence, tab, nonce.
--                                 No id has a tab.
-- A sequence is 16 digits, unique for ever: it starts at Redis's clock in microseconds and never
-- falls behind it, so that it goes on rising after the queue was deleted and made again. It is the
-- id of a message whose sender gave none.
--
-- A message here is a table: seq, the fields of its record, and, once known, `at` (its score) and
-- `place` (its key). A script over several queues has them one after the other, and use_queue(i),
-- from 0, says which one all of this is about.
local QUEUE_KEYS = 17
local first_key, queue_key, flight_key, dead_key, meta_key, body_key, ids_key, done_key
local function use_queue(i)
  first_key = i * QUEUE_KEYS
  queue_key, flight_key, dead_key = KEYS[first_key + 1], KEYS[first_key + 12], KEYS[first_key + 13]
  meta_key, body_key, ids_key, done_key = unpack(KEYS, first_key + 14, first_key + QUEUE_KEYS)
end
use_queue(0)
local function due_key(priority)
  return KEYS[first_key + 2 + priority]
end

-- Read once: everything in a script happens at this instant.
local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)

-- Reads a key, which is then known to be of the type that the command takes: commit() need not look
-- at it again.
local known = {}
local function read(verb, key, ...)
  local reply = redis.call(verb, key, ...)
  known[key] = true
  return reply
end

-- A queue is {key, paused, dropped}: the key of its settings, and how many messages this script
-- drops (count_expired). Its other settings are read when they are asked for first: most scripts
-- want none of them.
local function this_queue()
  return { key = queue_key, paused = read('HGET', queue_key, 'paused') == '1', dropped = 0 }
end

-- setting(queue, name): a number; what stands here when nothing was PUT.
local UNSET = {
  seq = 0, expired = 0, visibility_ms = 30000, max_receives = 5, backoff_base_ms = 0, backoff_max_ms = 0, dedupe_ms = 300000,
  retention_ms = 1209600000,
}
local function setting(queue, name)
  if not queue[name] then
    queue[name] = tonumber(read('HGET', queue.key, name) or UNSET[name])
    if not queue[name] then
      error(redis.error_reply('WRONGTYPE ' .. queue.key .. ' holds a hash that is not a queue'))
    end
  end
  return queue[name]
end

-- A message's record: tab-separated priority, receives, sent_at_ms, expires_at_ms (0: never),
-- max_receives (0: the queue's), nonce of the current delivery ('' when not in flight), id ('' when
-- it is the sequence), reason why the last one failed.
local function parse_record(seq, text)
  local priority, receives, sent_at, expires_at, max_receives, nonce, id, reason =
    text:match('^(%d)\t(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%x*)\t([^\t]*)\t(.*)$')
  if not priority then
    error(redis.error_reply('WRONGTYPE a record in ' .. meta_key .. ' is not a message'))
  end
  return {
    seq = seq, priority = priority + 0, receives = receives + 0, sent_at = sent_at + 0, expires_at = expires_at + 0,
    max_receives = max_receives + 0, nonce = nonce, id = id, reason = reason,
  }
end
local function record_of(m)
  local numbers = string.format('%d\t%d\t%d\t%d\t%d\t', m.priority, m.receives, m.sent_at, m.expires_at, m.max_receives)
  return numbers .. m.nonce .. '\t' .. m.id .. '\t' .. m.reason
end

-- The messages of a ZRANGE ... WITHSCORES of `place`, in its order. One whose record is gone has
-- `lost` instead of fields.
local function messages_of(place, flat)
  local seqs, list = {}, {}
  for i = 1, #flat, 2 do
    seqs[#seqs + 1] = flat[i]
  end
  if #seqs == 0 then
    return list
  end
  local texts = read('HMGET', meta_key, unpack(seqs))
  for i, seq in ipairs(seqs) do
    local m = texts[i] and parse_record(seq, texts[i]) or { seq = seq, lost = true }
    m.at = tonumber(flat[2 * i])
    m.place = place
    list[i] = m
  end
  return list
end

-- Past its ttl. Neither a delivery under way nor a dead letter (its expires_at is 0) is ever
-- dropped for that.
local function is_expired(m)
  return m.expires_at > 0 and m.expires_at <= now
end

-- The id that callers know.
local function id_of(m)
  return m.id ~= '' and m.id or m.seq
end

-- A dead letter has no delivery and no ttl: it is kept for retention_ms. The place of m stays what
-- it was.
local function die(m, died_at, reason)
  m.nonce, m.reason, m.expires_at, m.at = '', reason, 0, died_at
end

-- What a delivery that ended at `ended_at` without an acknowledgement makes of its message. Changes
-- m, but not its place, and returns where it belongs: 'due', or 'dead' when it was delivered often
-- enough.
local function end_delivery(queue, m, ended_at, delay_ms, reason)
  local most = m.max_receives > 0 and m.max_receives or setting(queue, 'max_receives')
  if m.receives >= most then
    die(m, ended_at, reason .. '; max_receives')
    return 'dead'
  end
  m.nonce, m.reason, m.at = '', reason, ended_at + delay_ms
  return 'due'
end

-- The delay before another try: base * 2^(receives - 1), at most max; 0 when the queue has no
-- backoff.
local function backoff_ms(queue, m)
  local base = setting(queue, 'backoff_base_ms')
  if base == 0 then
    return 0
  end
  return math.min(base * 2 ^ (m.receives - 1), math.max(base, setting(queue, 'backoff_max_ms')))
end

-- The same for a delivery whose visibility has ended, at m.at; 'expired' when the message is past
-- its ttl by then.
local function end_visibility(queue, m)
  if m.expires_at > 0 and m.expires_at <= m.at then
    return 'expired'
  end
  local state = end_delivery(queue, m, m.at, backoff_ms(queue, m), 'visibility expired')
  return state == 'due' and is_expired(m) and 'expired' or state
end

-- A dead message starts anew, due now.
local function revive(m)
  m.receives, m.reason, m.at = 0, '', now
end

-- The plan of writes. Nothing is written before commit(), which first looks at the type of every
-- key that was not read before: a foreign type half-applies nothing. Removals come before
-- additions, one command a key and kind.
local removals, additions = {}, {}
local function plan(list, verb, key, a, b)
  local command = list[key] -- a key takes one kind of removal and one kind of addition
  if command then
    command[#command + 1] = a
    command[#command + 1] = b
  else
    command = { verb, key, a, b }
    list[key] = command
    list[#list + 1] = command
  end
end
local function zrem(key, member)
  plan(removals, 'ZREM', key, member)
end
local function hdel(key, field)
  plan(removals, 'HDEL', key, field)
end
local function zadd(key, score, member)
  plan(additions, 'ZADD', key, digits(score), member)
end
local function hset(key, field, value)
  plan(additions, 'HSET', key, field, value)
end
-- What commit() will tell those who wait for this queue's messages: something more is due at that
-- instant. A paused queue tells nothing; it will when it goes on.
local announced = {}
local function announce(queue, at)
  if queue.paused then
    return
  end
  local a = announced[queue_key]
  if not a then
    a = { ready = 0, next_at = math.huge }
    announced[queue_key] = a
  end
  if at <= now then
    a.ready = a.ready + 1
  else
    a.next_at = math.min(a.next_at, at)
  end
end
local function commit()
  local lists = { removals, additions }
  for _, list in ipairs(lists) do
    for _, c in ipairs(list) do
      if not known[c[2]] then
        redis.call((c[1] == 'ZREM' or c[1] == 'ZADD') and 'ZCARD' or 'HLEN', c[2])
      end
    end
  end
  for _, list in ipairs(lists) do
    for _, c in ipairs(list) do
      redis.call(unpack(c))
    end
  end
  for channel, a in pairs(announced) do
    wake(channel, a.ready, a.next_at < math.huge and a.next_at - now or -1)
  end
end

-- Plans that a message is gone for good, its id with it.
local function forget(m)
  zrem(m.place, m.seq)
  hdel(meta_key, m.seq)
  hdel(body_key, m.seq)
  if m.id and m.id ~= '' then
    hdel(ids_key, m.id)
  end
end

-- The same for one past its time, and counts it (a dead letter past its retention is no loss to
-- count).
local function drop(queue, m)
  forget(m)
  if not m.lost and m.place ~= dead_key then
    queue.dropped = queue.dropped + 1
  end
end
local function count_expired(queue)
  if queue.dropped > 0 then
    hset(queue_key, 'expired', digits(setting(queue, 'expired') + queue.dropped))
  end
end

-- Plans that a message moves to `key` at score m.at, from its place if it has one; its record is
-- written anew.
local function move(m, key)
  if m.place and key ~= m.place then
    zrem(m.place, m.seq)
  end
  zadd(key, m.at, m.seq)
  hset(meta_key, m.seq, record_of(m))
end

-- Plans what end_delivery or end_visibility said.
local function settle(queue, m, state)
  if state == 'expired' then
    drop(queue, m)
  elseif state == 'dead' then
    move(m, dead_key)
  else
    move(m, due_key(m.priority))
    announce(queue, m.at)
  end
end
