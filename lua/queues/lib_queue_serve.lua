-- Which waiter gets a message. Wants queues/lib_queue.lua and lib/waiters.lua.

-- serve(w): after any change: calls as many waiters as messages are ready for (their tickets end in
-- how many they take), and lets one look when more may be. A paused queue serves none; it will when
-- it goes on. Neither does one that is held for its policy: then one looks when that ends.
local function serve(w)
  if not w.head then
    return
  end
  local settings = redis.call('HMGET', queue_key, 'paused', 'schedule_at', 'held_until')
  if settings[1] == '1' then
    return
  end
  local held_until = tonumber(settings[3] or 0)
  if held_until > now then
    waiters_watch(w, held_until)
    return
  end
  local function wants(ticket)
    return tonumber(string.match(ticket, '%d+$')) or 1
  end
  local ready = redis.call('ZCARD', ready_key)
  for _, ticket in ipairs(w.called) do
    ready = ready - wants(ticket)
  end
  while ready > 0 and w.head do
    ready = ready - wants(waiters_offer(w))
  end
  if not w.head then
    return
  end
  local delayed = redis.call('ZRANGE', delayed_key, '0', '0', 'WITHSCORES')[2]
  local back = redis.call('ZRANGE', flight_key, '0', '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
  waiters_watch(w, math.min(delayed or math.huge, back or math.huge, settings[2] or math.huge))
end
