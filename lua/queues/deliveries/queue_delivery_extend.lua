-- queue_delivery_extend: gives a current delivery more time, counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: the halves of the receipt, 3 visibility_ms (-1: the queue's), 4
--       progress as it is stored (queues/lib_queue.lua), '' keeps it, 5 'late': as for
--       queue_delivery_acknowledge
--@reply 1: id text, visible_until_ms int
--@reply -1 stale, -2 cancelled
-- stale: the delivery is no longer current. cancelled: its message was cancelled, and the delivery
-- ends. A replay returns the present visible_until_ms, while the delivery is current.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
--@idempotent proof
--@plain
-- The delivery keeps its progress, does not end sooner than before, and does not hang. Its message
-- was not cancelled.
local seq, nonce, visibility_ms, progress = ARGV[1], ARGV[2], ARGV[3] + 0, ARGV[4]
local field, instant = seq .. 's', format('%d', now)
known = redis.call('HMGET', KEYS[QUEUE], field, 'layout', 'visibility_ms', 'full')
local state = (known[2] or LAYOUT) == LAYOUT and not known[4] and progress == '' and known[1]
if visibility_ms < 0 then
  visibility_ms = tonumber(known[3] or 30000)
end
if state and state:sub(1, 16) == nonce and state:sub(17, 29) > instant and (visibility_ms or -1) >= 0
  and state:sub(30, 30) ~= 'd' then
  local ends, options = format('%d', now + visibility_ms), state:find('\t', 32, true)
  local id, group, marks = '', '', ''
  if options then
    id, group, marks = state:match('^\t%d+\t%d+\t([^\t]*)\t([^\t]*)\t[^\t]*\t([^\t]*)\t', options)
  end
  -- A delivery that began in the same 100 s is too young to hang.
  local hangs = nonce < instant:sub(1, 8)
    and (tonumber(nonce:sub(1, 10)) or now) + math.max(HANGING_S, visibility_ms / 250) <= clock[1] + 0
  if marks and not marks:find('c', 1, true) and ends >= state:sub(17, 29) and not hangs then
    redis.call('ZADD', KEYS[FLIGHT], ends, field .. group)
    redis.call('HSET', KEYS[QUEUE], field, nonce .. ends .. state:sub(30))
    reply = { 1, now, id ~= '' and id or seq, now + visibility_ms }
    proves, lasts_ms = true, visibility_ms
  end
end
--@operation
local seq, nonce, visibility_ms, progress, late = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local stored = known or redis.call('HMGET', keys[QUEUE], seq .. 's', 'layout')
check_layout(stored[2])
if late and not granted then
  recall(seq, nonce, false)
  stored[1] = redis.call('HGET', keys[QUEUE], seq .. 's')
end
local m, is_cancelled = current_delivery(seq, nonce, stored[1])
if granted then
  granted[4] = m and m.at
  return m and granted
elseif not m then
  commit()
  return { is_cancelled and -2 or -1, now }
end
if visibility_ms < 0 then
  visibility_ms = setting('visibility_ms') -- which refuses what is not a number
end
local visible_until = now + visibility_ms
m.ends = format('%d', visible_until)
if progress ~= '' then
  m.progress = progress
end
plan('ZADD', keys[FLIGHT], m.ends, m.member)
plan('HSET', keys[QUEUE], m.seq .. 's', state_of(m))
note_hanging(m, visibility_ms)
queue.comes_sooner = visible_until < m.at
commit()
return { 1, now, id_of(m), visible_until }, true, visibility_ms
