-- What a message's table becomes. Wants queues/lib_queue_message.lua.

-- Its member, but in flight.
local function member_of(m)
  local member = m.priority .. m.seq
  if m.group ~= '' then
    return member .. m.size .. m.group
  end
  return m.size == 'b' and member .. 'b' or member
end

-- Its place among the messages of its group.
local function place_of(m)
  return m.priority .. m.seq .. m.size
end

-- Its member in flight.
local function flight_member(m)
  return m.seq .. 's' .. m.group
end

-- Its place in `ready`. A due_ms has 13 digits until the year 2286, so the text is the number.
local function ready_score(m)
  return m.priority .. digits(m.at)
end

-- Past its ttl. Neither a delivery under way nor a dead letter (its expires_at is 0) is ever
-- dropped for that.
local function is_expired(m)
  return m.expires_at > 0 and m.expires_at <= now
end

-- 'c': it was cancelled while it is in flight. 'a': another message waits for its end, in the field
-- `~<id>` of the hash: when that is due, a newline, its content (on_duplicate after).
local function has_mark(m, mark)
  return m.marks and m.marks:find(mark, 1, true) ~= nil
end

-- The id that callers know.
local function id_of(m)
  return m.id ~= '' and m.id or m.seq
end

-- No delivery is under way.
local function clear_delivery(m)
  m.nonce, m.ends, m.progress = NO_NONCE, NO_END, ''
end

-- A dead letter has no delivery and no ttl: it is kept for dead_retention_ms.
local function die(m, died_at, reason)
  clear_delivery(m)
  m.reason, m.expires_at, m.at = reason, 0, died_at
end

-- A dead message starts again, due now.
local function revive(m)
  m.receives, m.worker, m.reason, m.at = 0, '', '', now
end
