-- queue_message_delete: a message that nobody is working on is gone, its id free at once.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {1, now_ms}; {-1, now_ms} when there is none; {-2, now_ms, visible_until_ms} while it is
-- in flight.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time wake queue queue_find
--@flags allow-oom
local queue = this_queue()
local m, state = find(queue, ARGV[1])
if state == 'in_flight' then
  return { -2, now, m.at }
end
if m and state == 'expired' then
  drop(queue, m)
  count_expired(queue)
  commit()
  return { -1, now }
end
if not m then
  return { -1, now }
end
forget(m)
commit()
return { 1, now }
