-- A message as a look shows it. Wants queues/lib_queue_message.lua.

-- {state, at_ms, sequence, content, state of the message as it is stored}, read by
-- handlers/queues/queue_content.h. `state` is 'ready', 'delayed', 'in_flight' or 'dead'; at_ms is
-- due_ms, visible_until_ms or died_at_ms.
local function item_of(m, state)
  if state == 'due' then
    state = m.at <= now and 'ready' or 'delayed'
  end
  return { state, m.at, m.seq, m.content, state_of(m) }
end
