-- The members and scores of a message's table, and how it changes. This module changes only the
-- table, and must not know Redis.

-- member_of(m): its member in ready, delayed and dead.
local function member_of(m)
  local member = m.priority .. m.seq
  if m.group ~= '' then
    return member .. m.size .. m.group
  end
  return m.size == 'b' and member .. 'b' or member
end

-- place_of(m): its place among the messages of its group.
local function place_of(m)
  return m.priority .. m.seq .. m.size
end

-- flight_member(m): its member in flight.
local function flight_member(m)
  return m.seq .. 's' .. m.group
end

-- ready_score(m): its score in `ready`. A due_ms has 13 digits until the year 2286, so the text is
-- the number.
local function ready_score(m)
  return m.priority .. format('%d', m.at)
end

-- is_expired(m): whether it is past its ttl. A message in flight is not dropped for its ttl, and a
-- dead letter has none (its expires_at is 0).
local function is_expired(m)
  return m.expires_at > 0 and m.expires_at <= now
end

-- is_past_ttl(m): whether it will be past its ttl when it is due, so that no receive gets it.
local function is_past_ttl(m)
  return m.expires_at > 0 and m.expires_at <= math.max(m.at, now)
end

-- has_mark(m, mark): whether it has a mark. 'c': it was cancelled while in flight. 'a': another
-- message waits for its end (on_duplicate after). The field `~<id>` of the hash has when that
-- message is due, a newline, and its content. 'f' and 10 digits: when its first delivery began (s),
-- once that delivery has failed; until then the nonce has that time.
local function has_mark(m, mark)
  return m.marks and m.marks:find(mark, 1, true) ~= nil
end

-- id_of(m): the id that clients know.
local function id_of(m)
  return m.id ~= '' and m.id or m.seq
end

-- clear_delivery(m): makes it a message that is not in flight.
local function clear_delivery(m)
  m.nonce, m.ends, m.progress = NO_NONCE, NO_END, ''
end

-- note_first(m): notes when the first delivery began, if that is the one that has failed.
local function note_first(m)
  local since = m.receives == 1 and m.nonce:match('^%d%d%d%d%d%d%d%d%d%d')
  if since then
    m.marks = m.marks .. 'f' .. since
  end
end

-- die(m, died_at, reason): makes it a dead letter, without a delivery or a ttl. A dead letter is
-- kept for dead_retention_ms.
local function die(m, died_at, reason)
  note_first(m)
  clear_delivery(m)
  m.reason, m.expires_at, m.at = reason, 0, died_at
end

-- revive(m): makes a dead letter due now, as if it had not been delivered. No earlier receipt
-- counts late.
local function revive(m)
  m.receives, m.worker, m.reason, m.at, m.ends = 0, '', '', now, NO_END
  m.marks = m.marks:gsub('f%d+', '')
end
