-- queue_message_delete: a message that no worker has is gone, its id free at once.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id
--@reply 1 removed
--@reply -1 absent
--@reply -2 in_flight: visible_until_ms int
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
