-- A message that is done. Wants queues/lib_queue.lua.

-- Plans that the message at m.place is gone; an id that its sender gave is remembered for
-- dedupe_ms.
local function finish(queue, m)
  zrem(m.place, m.seq)
  hdel(meta_key, m.seq)
  hdel(body_key, m.seq)
  if m.id ~= '' and setting(queue, 'dedupe_ms') > 0 then
    hset(ids_key, m.id, '')
    zadd(done_key, now + setting(queue, 'dedupe_ms'), m.id)
  elseif m.id ~= '' then
    hdel(ids_key, m.id)
  end
end

-- Plans the same for a current delivery that is acknowledged, which is remembered for a minute: a
-- retry of the acknowledgement succeeds. Its score is negative, so that a purge finds
-- acknowledgements among the ids.
local function acknowledge(queue, m)
  finish(queue, m)
  zadd(done_key, -(now + 60000), m.seq .. '\t' .. m.nonce)
end

-- Returns true when this delivery was acknowledged within the last minute.
local function was_acknowledged(seq, nonce)
  local remembered_until = read('ZSCORE', done_key, seq .. '\t' .. nonce)
  return remembered_until and -tonumber(remembered_until) > now
end
