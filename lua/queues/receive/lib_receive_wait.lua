-- Last: the ticket of the request joins the wait queue of queue `i`, or leaves it, and waiters are
-- served with what is left. This part must not know which messages were handed out. Needs the
-- variables of queue_message_receive.
local waits_on = ticket ~= '' and wait_ms > 0 and reply[1] == 0 and reply[3] == 0
if q.is_awaited or waits_on then
--@include waiters queue_serve
  local w = q.w or waiters_read(queue_key, waiters_key, now, ticket)
  waiters_settle(w)
  if waits_on then
    waiters_join(w, clock[1] * 1000000 + clock[2], ARGV[7] + 0)
  elseif ticket ~= '' and reply[3] == 0 then
    waiters_leave(w)
  end
  serve(w)
  if w.look_at and (reply[4] < 0 or w.look_at < reply[4]) then
    reply[4] = w.look_at
  end
end
