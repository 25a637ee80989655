-- queue_message_redrive: brings back the dead letters with these ids: due now, receives 0, without
-- their ttl. An id of no dead letter is left out.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  ids, at most 100
-- Returns {1, now_ms, how many are ready again}.
-- Errors: WRONGTYPE, nothing changed. O(ids * log(queue)); no content is read.
--@include time wake queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended
--@idempotent
local seqs, states = redis.call('HMGET', ids_key, unpack(ARGV)), {}
for i, id in ipairs(ARGV) do
  seqs[i] = seqs[i] or id
  states[i] = seqs[i] .. 's'
end
states = redis.call('HMGET', queue_key, unpack(states))

-- The dead letter of that sequence, known by that id, or nil.
local function dead_letter(seq, id, state)
  if not state or #seq ~= 16 or seq:find('%D') or state:sub(30, 30) == 'd' then
    return nil
  end
  local m = read_state(state)
  m.seq = seq
  if id_of(m) ~= id then
    return nil
  elseif m.nonce ~= NO_NONCE then -- a delivery, which may have ended
    m.place, m.member, m.at = flight_key, seq .. 's', tonumber(m.ends)
    return m.at <= now and end_visibility(m) == 'dead' and m
  end
  m.place, m.member = dead_key, member_of(m)
  local died_at = tonumber(redis.call('ZSCORE', dead_key, m.member) or 0)
  return died_at > now - setting('retention_ms') and m
end

local total = 0
for i, id in ipairs(ARGV) do
  local m = dead_letter(seqs[i], id, states[i])
  if m then
    revive(m)
    put_due(m)
    total = total + 1
  end
end
commit()
return { 1, now, total }
