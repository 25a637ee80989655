-- A message, for scripts that return it.

--@shape queue_message: state text, at_ms int, sequence text, content text, stored_state text
-- state is 'ready', 'blocked', 'delayed', 'in_flight', 'dead' or 'done'; at_ms is due_ms,
-- sent_at_ms, visible_until_ms, died_at_ms or done_at_ms. content and stored_state are as stored
-- (queues/lib_queue.lua); handlers/queues/queue_content.h reads them.
local function item_of(m, state)
  if state == 'due' then
    state = m.at <= now and 'ready' or 'delayed'
  end
  return { state, m.at, m.seq, m.content, state_of(m) }
end
