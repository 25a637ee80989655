-- queue_message_delete: removes a message; its id is free at once. The state of a message in flight
-- stays, with a mark, until its worker learns of the removal or its visibility ends.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id, 2 '1': also when it is in flight
--@reply 1 removed
--@reply -1 absent
--@reply -2 in_flight: visible_until_ms int
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
local id, in_flight = ARGV[1], ARGV[2]
local m, state = find_settled(id)
if state == 'in_flight' then
  if in_flight ~= '1' then
    return { -2, now, m.at }
  end
  plan('HDEL', keys[QUEUE], m.seq)
  if m.id ~= '' then
    plan('HDEL', keys[IDS], m.id)
    plan('HDEL', keys[QUEUE], '~' .. m.id)
  end
  queue.finished[#queue.finished + 1] = m.seq
  m.id, m.marks = '', 'c'
  plan('HSET', keys[QUEUE], m.seq .. 's', state_of(m))
  commit()
  return { 1, now }
elseif not m then
  return { -1, now }
elseif state == 'expired' then
  drop_found(m)
  commit()
  return { -1, now }
end
forget(m)
commit()
return { 1, now }
