-- A message as a look shows it. Wants queues/lib_queue.lua.

-- {id, state, body, priority, receives, sent_at_ms, at_ms, expires_at_ms (0: never), reason ('':
-- none)}. `state` is 'due', 'in_flight' or 'dead'; at_ms is due_ms, visible_until_ms or died_at_ms.
local function item_of(m, state, body)
  if state == 'due' then
    state = m.at <= now and 'ready' or 'delayed'
  end
  return { id_of(m), state, body, m.priority, m.receives, m.sent_at, m.at, m.expires_at, m.reason }
end
