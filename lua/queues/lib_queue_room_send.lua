-- The rule max_messages in queue_message_send and queue_message_supersede: refuses messages for
-- which there is no room, or lets their sender wait. `rules`, `room_wanted`, how many messages need
-- room, and `room_request` must be known, and nothing may be written yet. Sets `serve_room_later`.
-- This part must not know the messages.
--@include waiters queue_room_serve
local ticket, wait_ms, waited_us = string.match(room_request or '', '^(%S+) (%d+) (%d+)$')
local ready_count, blocked_count, delayed_count, flight_count = room_counts()
local room = rules.max_messages - ready_count - blocked_count - delayed_count - flight_count
local w, has_turn = nil, true
if ticket or redis.call('ZCARD', room_key) > 0 then
  w = waiters_read(room_key, room_key, now, ticket or '')
  has_turn = not ticket or w.is_called or waiters_is_next(w, clock[1] * 1000000 + clock[2], waited_us + 0)
end
if room_wanted > 0 and (room_wanted > room or not has_turn) then
  if redis.call('ZCOUNT', flight_key, '0', instant) + redis.call('ZCOUNT', groups_key, '-' .. instant, '(0') > 0 then
    return { -4, now } -- what has ended counts, but does not need the room
  end
  local may_wait = ticket and wait_ms + 0 > 0 and room_wanted <= rules.max_messages
  if ticket then
    waiters_settle(w)
    if may_wait then
      waiters_join(w, clock[1] * 1000000 + clock[2], waited_us + 0)
    else
      waiters_leave(w)
    end
    serve_room(w)
  end
  return { -3, now, rules.max_messages, ready_count, blocked_count, delayed_count, flight_count, room_wanted,
    may_wait and 1 or 0, may_wait and w.look_at or -1 }
end
serve_room_later = w and function()
  waiters_settle(w)
  if ticket then
    waiters_leave(w)
  end
  serve_room(w)
end
