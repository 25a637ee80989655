-- Room in a queue with the rule max_messages: how much there is, and which sender gets it.

-- room_counts(): how many messages are ready, blocked, delayed and in flight.
local function room_counts()
  local ready, blocked = redis.call('ZCARD', keys[READY]), redis.call('ZCARD', keys[ORDER])
  return ready, blocked, redis.call('ZCARD', keys[DELAYED]), redis.call('ZCOUNT', keys[FLIGHT], '0', '+inf')
end

-- serve_room(w): calls as many senders as there is room for, first come, first served.
local function serve_room(w)
  if not w.head then
    return
  end
  local function wants(ticket)
    return tonumber(string.match(ticket, '%d+$')) or 1
  end
  local room = math.huge
  if queue.rules and queue.rules.max_messages then
    local ready, blocked, delayed, in_flight = room_counts()
    room = queue.rules.max_messages - ready - blocked - delayed - in_flight
  end
  for _, ticket in ipairs(w.called) do
    room = room - wants(ticket)
  end
  while w.head and wants(w.head) <= room do
    room = room - wants(waiters_offer(w))
  end
  local back = redis.call('ZRANGE', keys[FLIGHT], '0', '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
  local past = redis.call('ZRANGE', keys[GROUPS], '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', '1', 'WITHSCORES')[2]
  waiters_watch(w, math.min(back or math.huge, past and -past or math.huge)) -- time may make room then
end
