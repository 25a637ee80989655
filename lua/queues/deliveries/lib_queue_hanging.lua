-- A delivery that its worker extends and extends, in the field `hanging` of the queue's hash: the
-- first 10 digits of its nonce, which are when it began (s), a blank, and its sequence. It is the
-- oldest that has lasted for HANGING_S, and four times as long as its extension, and whose worker
-- reports no progress. A nonce of an older daemon has no time.
local HANGING_S = 300

-- hanging_delivery(text): the sequence and the state of the delivery that the field names; nil if
-- it has ended, or reports progress since.
local function hanging_delivery(text)
  local since, seq = (text or ''):match('^(%d+) (%d+)$')
  local state = seq and redis.call('HGET', keys[QUEUE], seq .. 's')
  if state and state:sub(1, 10) == since and state:sub(17, 29) > instant and state:sub(30, 30) ~= 'd'
    and read_state(state).progress == '' then
    return seq, state
  end
end

-- note_hanging(m, visibility_ms): plans the field, if the delivery of m hangs, which is extended by
-- visibility_ms.
local function note_hanging(m, visibility_ms)
  local since = m.nonce:sub(1, 10)
  if m.progress ~= '' or (tonumber(since) or now) + math.max(HANGING_S, visibility_ms / 250) > clock[1] + 0 then
    return
  end
  local seq, state = hanging_delivery(redis.call('HGET', keys[QUEUE], 'hanging') or nil)
  if not seq or since < state:sub(1, 10) then
    plan('HSET', keys[QUEUE], 'hanging', since .. ' ' .. m.seq)
  end
end
