-- queue_message_redrive: redrives the dead letters with these ids: they are due now, with receives
-- 0 and without their ttl. Other ids are left out.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 interval_ms: how much later each is due than the one before (0: all are due now), 2...
--       ids, at most 100
--@reply 1: queue_step
-- total is how many are ready again.
-- Errors: WRONGTYPE, nothing changed. O(ids * log(queue)); no content is read.
--@idempotent
check_types()
local interval_ms = tonumber(table.remove(ARGV, 1))
local seqs, states = redis.call('HMGET', keys[IDS], unpack(ARGV)), {}
for i, id in ipairs(ARGV) do
  seqs[i] = seqs[i] or id
  states[i] = seqs[i] .. 's'
end
local fields = states
states = redis.call('HMGET', keys[QUEUE], unpack(fields))

-- is_sequence(seq): whether an id is a sequence. Any other id, with an 's' after it, may be the
-- name of another field of the hash.
local function is_sequence(seq)
  return #seq == 16 and not seq:find('%D')
end

-- A delivery that has ended may be a dead letter.
local has_settled, is_planned = false, {}
for i, state in ipairs(states) do
  if is_sequence(seqs[i]) and not is_planned[seqs[i]] and plan_message(seqs[i], state) then
    has_settled, is_planned[seqs[i]] = true, true
  end
end
if has_settled then
  read_waiters() -- before the first write, also where all are dead
  commit()
  states = redis.call('HMGET', keys[QUEUE], unpack(fields))
end

-- dead_letter(seq, id, state): the dead letter with that sequence and that id, or nil.
local function dead_letter(seq, id, state)
  if not state or not is_sequence(seq) or state:sub(30, 30) == 'd' then
    return nil
  end
  local m = read_state(state)
  m.seq = seq
  if id_of(m) ~= id then
    return nil
  elseif m.nonce ~= NO_NONCE then
    return nil
  end
  m.place, m.member = keys[DEAD], member_of(m)
  local died_at = tonumber(redis.call('ZSCORE', keys[DEAD], m.member) or 0)
  return died_at > now - setting('dead_retention_ms') and m
end

local total, is_redriven = 0, {}
for i, id in ipairs(ARGV) do
  local m = not is_redriven[id] and dead_letter(seqs[i], id, states[i])
  if m then
    is_redriven[id] = true -- so that it is not redriven twice
    revive(m)
    m.at = now + total * interval_ms
    put_due(m)
    total = total + 1
  end
end
commit()
return { 1, now, total }
