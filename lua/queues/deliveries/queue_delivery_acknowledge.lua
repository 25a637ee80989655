-- queue_delivery_acknowledge: ends a delivery that is done. Its message is removed, and its id
-- remembered for dedupe_ms. A queue with result_ms keeps the message as done for so long, with a
-- result of null.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: of the delivery, from its receipt, 3 'late': also when it is the last
--       one, and its visibility has ended; else absent
--@reply 1 acknowledged, 0 repeated, -1 stale, -2 cancelled
-- repeated: this delivery was acknowledged within the last 150 s. stale: the delivery is no longer
-- current, since its message was delivered again, returned or removed, or its visibility ended.
-- cancelled: its message was cancelled, and is gone.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
--@plain
-- A message without a group, for whose end no other message waits, in a queue without rules.
local seq, nonce = ARGV[1], ARGV[2]
local field, instant = seq .. 's', format('%d', now)
known = redis.call('HMGET', KEYS[QUEUE], field, 'layout', 'rules', 'full', 'group_paused_until', 'dedupe_ms')
local state = (known[2] or LAYOUT) == LAYOUT and not known[3] and not known[4] and known[1]
if state and state:sub(1, 16) == nonce and state:sub(17, 29) > instant and state:sub(30, 30) ~= 'd' then
  local options, expires, id = state:find('\t', 32, true), '0', ''
  if options then -- no group, no mark but 'f'
    expires, id = state:match('^\t(%d+)\t%d+\t([^\t]*)\t\t[^\t]*\tf?%d*\t', options)
  end
  local dedupe_ms, remembered_until = 0, format('%d', now + REMEMBERED_MS)
  if id ~= '' then
    dedupe_ms = tonumber(known[6] or '300000')
  end
  if id and dedupe_ms then
    if id ~= '' or expires ~= '0' then
      redis.call('ZCARD', KEYS[FLIGHT])
    end
    if id ~= '' and expires ~= '0' then
      redis.call('HLEN', KEYS[IDS])
    end
    if id ~= '' then
      redis.call('ZCARD', KEYS[DONE])
    end
    if expires ~= '0' then
      redis.call('ZREM', KEYS[GROUPS], 't' .. seq)
    end
    if id ~= '' then
      redis.call('HDEL', KEYS[IDS], id)
    end
    if id ~= '' and dedupe_ms > 0 then
      redis.call('ZADD', KEYS[DONE], format('%d', now + dedupe_ms), id)
    end
    redis.call('ZADD', KEYS[FLIGHT], '-' .. remembered_until, field)
    redis.call('HDEL', KEYS[QUEUE], seq)
    redis.call('HSET', KEYS[QUEUE], field, nonce .. remembered_until .. 'd')
    reply = { 1, now }
  end
end
--@operation
local seq, nonce, late = ARGV[1], ARGV[2], ARGV[3]
known = known or redis.call('HMGET', keys[QUEUE], seq .. 's', 'layout', 'rules', 'full', 'group_paused_until',
  'dedupe_ms')
local state, frees = known[1], known[4] -- frees: waiters may proceed
check_layout(known[2])
if late then
  recall(seq, nonce, true)
  state = redis.call('HGET', keys[QUEUE], seq .. 's')
end
if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= format('%d', now) then
  return { -1, now }
elseif state:sub(30, 30) == 'd' then
  return { state:sub(31, 31) == 'c' and -2 or 0, now }
end
queue.rules_text, queue.rules = known[3], known[3] and read_rules(known[3])
queue.group_paused_until = tonumber(known[5] or 0)
local result_ms = queue.rules_text and tonumber(queue.rules_text:match('^result_ms=(%d+)'))
local remembered_until = format('%d', now + math.max(REMEMBERED_MS, result_ms or 0))
local m = read_state(state)
m.seq, m.place = seq, keys[FLIGHT]
local is_awaited = has_mark(m, 'a') or has_mark(m, 'c') -- by a message that waits for its end
if is_awaited and not current_delivery(seq, nonce, state) then -- it was cancelled
  commit()
  return { -2, now }
elseif is_awaited then
  follow(m)
  unmark(m)
elseif m.group ~= '' then
  frees = end_of_group(m) or frees
end
if m.id ~= '' or m.expires_at > 0 then
  redis.call('ZCARD', keys[FLIGHT])
end
if m.id ~= '' and not is_awaited then
  know('dedupe_ms', known[6]) -- a hash that is not a queue's fails here
end
if frees then
  read_waiters()
end
read_room()
if m.expires_at > 0 then
  redis.call('ZREM', keys[GROUPS], 't' .. seq)
end
if is_awaited then
  commit()
elseif m.id ~= '' then
  remember_ids({ m.id }, result_ms or 0)
end
redis.call('ZADD', keys[FLIGHT], '-' .. remembered_until, flight_member(m))
redis.call('HDEL', keys[QUEUE], seq)
local done = nonce .. remembered_until .. 'd'
if result_ms then
  done = result_ms > 0 and done_state(state, remembered_until, '-', result_ms) or done
  wake_waiters({ seq })
end
redis.call('HSET', keys[QUEUE], seq .. 's', done)
write_planned()
if frees then
  serve_waiters()
end
serve_senders()
return { 1, now }
