-- queue_letters_store: stores dead letters of a queue in another slot, as queue_redrive_to does.
-- They leave the other queue afterwards (queue_letters_remove). If the daemon dies before that, the
-- next move stores none twice: the message with the letter's id names the queue and the sequence
-- that it came from.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/made.lua)
-- ARGV  1 interval_ms, 2 how many moved before, 3 the name of the other queue, percent-encoded, 4
--       '1': only as many as letters_room() admits, and their ttl_ms begins; 'ready': they are
--       messages that did not die (queue_moved_remove removes them); 'back': the same, and the
--       queue must exist; else '', 5 the name of this
--       queue, percent-encoded, 6... three per letter: sequence, content and state, as
--       queue_letters_read returns them
--@reply 0..: outcomes text
-- The outcome of the reply is how many were stored. outcomes has a digit for each letter: 1 stored,
-- 2 stored by an earlier move, 3 its id is taken or remembered, 4 there is no room.
-- Errors: WRONGTYPE, nothing changed. O(letters * log(queue)).
local interval_ms, before, name, mode, to = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
check_types()
check_groups()
read_waiters()
local stored, room, outcomes, total, taken = read_store(), math.huge, {}, 0, {}
if mode == '1' then
  room = letters_room()
elseif mode == 'back' and stored.is_made then
  room = 0
end
for i = 6, #ARGV, 3 do
  local m = read_state(ARGV[i + 2])
  m.seq, m.content = ARGV[i], ARGV[i + 1]
  m.sent_at = read_header(m.content).sent_at
  local id = id_of(m)
  local there = taken[id] or letter_there(id, name .. ' ' .. m.seq)
  if there == 'taken' then
    outcomes[#outcomes + 1] = '3'
  elseif there == 'moved' then
    outcomes[#outcomes + 1] = '2'
  elseif total >= room then
    outcomes[#outcomes + 1] = '4'
  else
    local body = (mode == 'ready' or mode == 'back') and ready_body_from(name, to, m) or body_from(name, m)
    m.id = id
    clear_delivery(m)
    revive(m)
    m.marks = ''
    m.expires_at, m.at = mode == '1' and expiry_here() or 0, now + (before + total) * interval_ms
    store(m, body)
    total, taken[id], outcomes[#outcomes + 1] = total + 1, 'taken', '1'
  end
end
if total > 0 then
  plan_stored()
  if mode == '1' then
    note_letters(name)
  end
  commit(true)
  if stored.is_new then
    made = { keys[QUEUE] }
  end
end
serve_waiters()
return { total, now, table.concat(outcomes) }
