-- queue_delivery_acknowledge: a delivery is done; its message is gone, its id is remembered for
-- dedupe_ms.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 sequence, 2 nonce: of the delivery, from its receipt
--@reply 1 acknowledged, 0 repeated, -1 stale
-- repeated: this delivery was acknowledged within the last minute. stale: it is no longer current,
-- since its message was delivered again, returned or removed, or its visibility ended.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue
--@flags allow-oom
local seq, nonce = ARGV[1], ARGV[2]
local field = seq .. 's'
local stored = redis.call('HMGET', queue_key, field, 'layout', 'full', 'rules', 'group_paused_until')
local state, layout, frees = stored[1], stored[2], stored[3] -- frees: what waits may go on
--@include queue_layout
if not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
  return { -1, now }
elseif state:sub(30, 30) == 'd' then
  return { 0, now }
end
local remembered_until, member, end_of_id, end_of_group = digits(now + 60000), field, nil, nil
if state:find('\t', 32, true) then -- it has options; perhaps a group, or an id
--@include queue_types queue_message
  local m = read_state(state)
  if m.group ~= '' then
--@include queue_change queue_writes queue_rate queue_groups
    m.seq, member = seq, field .. m.group
    rules, group_paused_until = stored[4] and cmsgpack.unpack(stored[4]), tonumber(stored[5] or 0)
    local mark = m.group .. TAKEN .. place_of(m)
    redis.call('ZCARD', busy_key)
    if (group_limit() or rules and rules.was_limited) and promote(m.group, mark) then
      redis.call('ZCARD', ready_key)
      frees = true
    end
    plan('ZREM', busy_key, mark)
    end_of_group = write_planned
  end
  if m.id ~= '' then
    redis.call('ZCARD', flight_key)
--@include queue_settings queue_done
    end_of_id = function()
      remember_ids({ m.id })
    end
  end
end
local serve
if frees then
--@include queue_waiters
  read_waiters()
  serve = serve_waiters
end
if end_of_id then
  end_of_id()
end
redis.call('ZADD', flight_key, '-' .. remembered_until, member)
redis.call('HSET', queue_key, field, nonce .. remembered_until .. 'd')
redis.call('HDEL', queue_key, seq)
if end_of_group then
  end_of_group()
end
if serve then
  serve()
end
return { 1, now }
