-- The senders that wait for room, for scripts that may make room. This module must not know what
-- makes room. The wait queue is KEYS[13], which is its channel.

-- read_room(): reads the wait queue. Call it before the first write of a script that may make room.
local function read_room()
  if queue.sending == nil and queue.rules and queue.rules.max_messages and redis.call('ZCARD', keys[ROOM]) > 0 then
    queue.sending = waiters_read(keys[ROOM], keys[ROOM], now, '')
  end
  queue.sending = queue.sending or false
end

-- serve_senders(): calls the senders for which there is room now.
local function serve_senders()
  if queue.sending then
    waiters_settle(queue.sending)
    if queue.sender then
      waiters_leave(queue.sending)
    end
    serve_room(queue.sending)
  end
end

-- room_refusal(wanted, asked): the reply that refuses messages which need more room than there is,
-- or nil. `asked` is nil, or of a sender that may wait: its ticket, how long it may still wait, ms,
-- and how long it has waited, us. Nothing may be written yet. If it returns nil, serve_senders()
-- removes the sender from the wait queue.
local function room_refusal(wanted, asked)
  local ticket, wait_ms, waited_us = string.match(asked or '', '^(%S+) (%d+) (%d+)$')
  local most, has_turn, w = queue.rules.max_messages, true, nil
  local ready, blocked, delayed, in_flight = room_counts()
  if ticket or redis.call('ZCARD', keys[ROOM]) > 0 then
    w = waiters_read(keys[ROOM], keys[ROOM], now, ticket or '')
    has_turn = not ticket or w.is_called or waiters_is_next(w, now_us, waited_us + 0)
  end
  queue.sending, queue.sender = w or false, ticket
  if wanted == 0 or wanted <= most - ready - blocked - delayed - in_flight and has_turn then
    return nil
  elseif redis.call('ZCOUNT', keys[FLIGHT], '0', instant) > 0
    or redis.call('ZCOUNT', keys[GROUPS], '-' .. instant, '(0') > 0 then
    return { -4, now } -- what has ended counts, but does not need the room
  end
  local may_wait = ticket and wait_ms + 0 > 0 and wanted <= most
  if ticket then
    waiters_settle(w)
    if may_wait then
      waiters_join(w, now_us, waited_us + 0)
    else
      waiters_leave(w)
    end
    serve_room(w)
  end
  return { -3, now, most, ready, blocked, delayed, in_flight, wanted, may_wait and 1 or 0,
    may_wait and w.look_at or -1 }
end
