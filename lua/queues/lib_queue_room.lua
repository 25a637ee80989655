-- Room in a queue with the rule max_messages, and the senders that wait for it. Wants
-- queues/lib_queue_types.lua: `rules` are known. The wait queue is KEYS[13], and its channel.
local room_read -- nil: its wait queue was not read; false: nothing waits there, or there is no rule

-- How many messages there are: ready, blocked, delayed and in flight.
local function room_counts()
  local ready, blocked = redis.call('ZCARD', ready_key), redis.call('ZCARD', order_key)
  return ready, blocked, redis.call('ZCARD', delayed_key), redis.call('ZCOUNT', flight_key, '0', '+inf')
end

-- Calls as many senders as there is room for the messages of, first come, first served.
local function serve_room(w)
  if not w.head then
    return
  end
  local function wants(ticket)
    return tonumber(string.match(ticket, '%d+$')) or 1
  end
  local room = math.huge
  if rules and rules.max_messages then
    local ready, blocked, delayed, in_flight = room_counts()
    room = rules.max_messages - ready - blocked - delayed - in_flight
  end
  for _, ticket in ipairs(w.called) do
    room = room - wants(ticket)
  end
  while w.head and wants(w.head) <= room do
    room = room - wants(waiters_offer(w))
  end
  waiters_watch(w, math.huge)
end

-- read_room(): before the first write of a script after which there may be more room.
local function read_room()
  if room_read == nil and rules and rules.max_messages and redis.call('ZCARD', room_key) > 0 then
--@include waiters
    local w = waiters_read(room_key, room_key, now, '')
    room_read = function()
      waiters_settle(w)
      serve_room(w)
    end
  end
  room_read = room_read or false
end

-- After there may be more room.
local function serve_senders()
  if room_read then
    room_read()
  end
end
