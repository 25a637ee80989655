-- queue_message_send: stores a batch of messages, all of them or none. A taken id makes a
-- duplicate, not a second message.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  seven a message: id ('': one is made), body (as stored), priority 0..9, delay_ms,
--       deliver_at_ms (-1: delay_ms counts; in the past: now), ttl_ms (0: none), max_receives (0:
--       the queue's)
-- Returns {stored, now_ms, {id, 1 when duplicate else 0, deliver_at_ms} a message}; the
-- deliver_at_ms of a duplicate is the first one's, visible_until_ms while that is in flight, 0 when
-- it will not be delivered any more (dead, acknowledged).
--         {-1, now_ms, which} nothing stored: that message (from 0) would be past its ttl before it
--         is due
-- Errors: WRONGTYPE, nothing stored. O(messages * log(queue)).
--@include time wake queue queue_find
--@idempotent
local queue = this_queue()

local sent = {} -- id to deliver_at_ms, of this batch
-- The deliver_at_ms of the message that has this id already, nil when it is free. Plans the end of
-- what was past its time.
local function taken_until(id)
  if sent[id] then
    return sent[id]
  end
  local m, state = find(queue, id)
  if state == 'expired' then
    drop(queue, m)
    return nil
  elseif m then
    return state == 'dead' and 0 or m.at
  end
  local remembered_until = read('ZSCORE', done_key, id)
  if remembered_until then
    if tonumber(remembered_until) > now then
      return 0
    end
    zrem(done_key, id)
  end
  return nil
end

-- The next sequence that nobody used as an id. Leaps ahead when one was, so that a row of such ids
-- costs few steps.
local last = math.max(setting(queue, 'seq'), now_us)
local function next_seq(must_be_free)
  local leap = 1
  local seq
  repeat
    last = last + leap
    leap = math.min(leap * 2, 1048576)
    seq = digits(last)
  until not must_be_free or not (sent[seq] or read('HEXISTS', ids_key, seq) == 1)
  return seq
end

local reply = { 0, now }
for i = 1, #ARGV, 7 do
  local id = ARGV[i]
  local deliver_at = id ~= '' and taken_until(id)
  if deliver_at then
    reply[#reply + 1] = { id, 1, deliver_at }
  else
    local seq = next_seq(id == '')
    deliver_at = ARGV[i + 4] + 0
    if deliver_at < 0 then
      deliver_at = now + ARGV[i + 3]
    end
    local ttl_ms = ARGV[i + 5] + 0
    if ttl_ms > 0 and deliver_at >= now + ttl_ms then
      return { -1, now, (i - 1) / 7 }
    end
    local m = {
      seq = seq, at = math.max(deliver_at, now), priority = ARGV[i + 2] + 0, receives = 0, sent_at = now,
      expires_at = ttl_ms > 0 and now + ttl_ms or 0, max_receives = ARGV[i + 6] + 0, nonce = '', id = id,
      reason = '',
    }
    zadd(due_key(m.priority), m.at, seq)
    hset(meta_key, seq, record_of(m))
    hset(body_key, seq, ARGV[i + 1])
    announce(queue, m.at)
    if id ~= '' then
      hset(ids_key, id, seq)
    else
      id = seq
    end
    sent[id] = m.at
    reply[1] = reply[1] + 1
    reply[#reply + 1] = { id, 0, m.at }
  end
end
if reply[1] > 0 then
  hset(queue_key, 'seq', digits(last))
end
count_expired(queue)
commit()
return reply
