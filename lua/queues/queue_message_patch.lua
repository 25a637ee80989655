-- queue_message_patch: changes the due time, the priority or the max_receives of a message, unless
-- the message is in flight.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id, 2 delay_ms, 3 deliver_at_ms, 4 priority, 5 max_receives (0: the queue's); -1: not
--       given. An instant in the past means now
--@reply 1: message [queue_message]
--@reply -1 absent
--@reply -2 in_flight: visible_until_ms int
--@reply -3 past_ttl: expires_at_ms int
-- past_ttl: the message would be past its ttl before it is due. A dead letter is redriven, as by
-- queue_redrive.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@idempotent
local id, delay_ms, deliver_at, priority = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local max_receives = tonumber(ARGV[5])
local m, state = find_settled(id)
if not m or state == 'expired' then
  return { -1, now }
elseif state == 'in_flight' then
  return { -2, now, m.at }
elseif state == 'dead' then
  revive(m)
end
if delay_ms >= 0 then
  m.at = now + delay_ms
elseif deliver_at >= 0 then
  m.at = math.max(deliver_at, now)
end
if m.expires_at > 0 and m.at >= m.expires_at then
  return { -3, now, m.expires_at }
end
if priority ~= '-1' then
  m.priority = priority
end
if max_receives >= 0 then
  m.max_receives = max_receives
end
put_due(m)
commit()
return { 1, now, item_of(m, 'due') }
