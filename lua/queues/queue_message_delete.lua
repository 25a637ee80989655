-- queue_message_delete: a message that no worker has is gone, its id free at once.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
-- Returns {1, now_ms}; {-1, now_ms} when there is none; {-2, now_ms, visible_until_ms} while it is
-- in flight.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended queue_find
--@flags allow-oom
local m, state = find_settled(ARGV[1])
if state == 'in_flight' then
  return { -2, now, m.at }
elseif not m then
  return { -1, now }
elseif state == 'expired' then
  drop(m)
  commit()
  return { -1, now }
end
forget(m)
commit()
return { 1, now }
