-- queue_delivery_acknowledge: ends a delivery that is done. Its message is removed, and its id
-- remembered for dedupe_ms. A queue with result_ms keeps the message as done for so long, with a
-- result of null.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: of the delivery, from its receipt
--@reply 1 acknowledged, 0 repeated, -1 stale, -2 cancelled
-- repeated: this delivery was acknowledged within the last 150 s. stale: the delivery is no longer
-- current, since its message was delivered again, returned or removed, or its visibility ended.
-- cancelled: its message was cancelled, and is gone.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue
--@flags allow-oom
local seq, nonce = ARGV[1], ARGV[2]
local field = seq .. 's'
local stored = redis.call('HMGET', queue_key, field, 'layout', 'rules', 'full', 'group_paused_until')
local state, layout, queue_rules, frees = stored[1], stored[2], stored[3], stored[4] -- frees: waiters may proceed
--@include queue_layout
if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
  return { -1, now }
elseif state:sub(30, 30) == 'd' then
  return { state:sub(31, 31) == 'c' and -2 or 0, now }
end
local result_ms = queue_rules and tonumber(queue_rules:match('^result_ms=(%d+)'))
local remembered_until, member = digits(now + math.max(150000, result_ms or 0)), field
local done = nonce .. remembered_until .. 'd'
local end_of_id, end_of_group
local options = state:find('\t', 32, true)
local expires, id
if options then -- no group, no mark
  expires, id = state:match('^\t(%d+)\t%d+\t([^\t]*)\t\t[^\t]*\t\t', options)
end
if options and not id then
--@include queue_types queue_message
  local m = read_state(state)
  m.seq, member, id, expires = seq, field .. m.group, m.id, digits(m.expires_at)
  if m.marks ~= '' then
--@include queue_settings queue_change queue_plan queue_ended queue_delivery
    if not current_delivery(seq, nonce, state) then -- it was cancelled
      commit()
      return { -2, now }
    end
    follow(m)
    end_of_id, id = commit, nil
    m.place = flight_key
    unmark(m)
  else
--@include queue_group_end
  end
end
if id and id ~= '' then
  redis.call('ZCARD', flight_key)
--@include queue_types queue_settings queue_done
  end_of_id = function()
    remember_ids({ id }, result_ms or 0)
  end
end
local serve
if frees then
--@include queue_waiters
  read_waiters()
  serve = serve_waiters
end
local serve_room_later
if queue_rules and queue_rules:find(' ', 1, true) then
--@include queue_rules
  local rules = read_rules(queue_rules)
--@include queue_room
  read_room()
  serve_room_later = serve_senders
end
if expires and expires ~= '0' then
  redis.call('ZCARD', flight_key)
  redis.call('ZREM', groups_key, 't' .. seq)
end
if end_of_id then
  end_of_id()
end
redis.call('ZADD', flight_key, '-' .. remembered_until, member)
redis.call('HDEL', queue_key, seq)
if result_ms then
--@include queue_result
  done = result_ms > 0 and done_state(state, remembered_until, '-', result_ms) or done
  wake_waiters({ seq })
end
redis.call('HSET', queue_key, field, done)
if end_of_group then
  end_of_group()
end
if serve then
  serve()
end
if serve_room_later then
  serve_room_later()
end
return { 1, now }
