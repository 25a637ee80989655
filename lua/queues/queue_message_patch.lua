-- queue_message_patch: a message that nobody is working on gets another due time, another priority,
-- or both.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 id, 2 delay_ms, 3 deliver_at_ms, 4 priority; -1: not given. An instant in the past is now
-- Returns {1, now_ms, item (queues/lib_queue_item.lua)}; {-1, now_ms} when there is none; {-2,
-- now_ms, visible_until_ms} while it is in flight. A dead message is brought back, as by
-- queue_redrive.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@include time wake queue queue_find queue_item
--@idempotent
local queue = this_queue()
local m, state = find(queue, ARGV[1])
local body = m and state ~= 'expired' and redis.call('HGET', body_key, m.seq)
if not body then
  return { -1, now }
elseif state == 'in_flight' then
  return { -2, now, m.at }
elseif state == 'dead' then
  revive(m)
end
local delay_ms, deliver_at, priority = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if delay_ms >= 0 then
  m.at = now + delay_ms
elseif deliver_at >= 0 then
  m.at = math.max(deliver_at, now)
end
if priority >= 0 then
  m.priority = priority
end
move(m, due_key(m.priority))
announce(queue, m.at)
commit()
return { 1, now, item_of(m, 'due', body) }
