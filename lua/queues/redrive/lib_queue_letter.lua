-- Messages that move into another queue: the parts of the body that name where they come from
-- (handlers/queues/queue_content.h), and whether their id is free there.

-- split_body(body): the part that names the queue in which a message died ('': none), and the rest
-- without the parts that a move has written.
local function split_body(body)
  local rest = body:match('^\tm[^\t]*(\t.*)$') or body
  local dead_from, others = rest:match('^(\tf[^\t]*)(\t.*)$')
  return dead_from or '', others or rest
end

-- join_body(parts, rest): puts such parts before such a rest.
local function join_body(parts, rest)
  return parts .. ((parts == '' or rest:sub(1, 1) == '\t') and '' or '\t=') .. rest
end

-- body_from(queue_name, m): the body of a dead letter that leaves the queue of that name
-- (percent-encoded). It names this queue in place of an earlier one.
local function body_from(queue_name, m)
  local _, rest = split_body(body_of(m.content))
  return join_body('\tf' .. queue_name .. ' ' .. m.seq, rest)
end

-- ready_body_from(queue_name, to, m): the body of a message that leaves the queue, and did not die
-- there. If it returns to the queue in which it died, it does not name that queue any more.
local function ready_body_from(queue_name, to, m)
  local dead_from, rest = split_body(body_of(m.content))
  if dead_from:match('^\tf([^ ]*)') == to then
    dead_from = ''
  end
  return join_body('\tm' .. queue_name .. ' ' .. m.seq .. dead_from, rest)
end

-- note_letters(name): plans that the queue has got letters of the queue of that name, which has the
-- setting dead_letter_queue. The name is percent-encoded.
local function note_letters(name)
  plan('HSET', keys[QUEUE], 'letters_from', name)
end

-- letter_there(id, origin): whether the queue that gets a message has or remembers its id: nil if
-- not, 'moved' if by this message, which has that origin, 'taken' otherwise. A message that only
-- waits to be dropped is dropped.
local function letter_there(id, origin)
  local m, state = find(id)
  if m and state == 'expired' then
    drop_found(m)
    commit(true)
  elseif m then
    return body_of(m.content):match('^\t[fm]([^\t]*)') == origin and 'moved' or 'taken'
  end
  local until_ms = redis.call('ZSCORE', keys[DONE], id)
  return until_ms and tonumber(until_ms) > now and 'taken' or nil
end

-- expiry_here(): when a message that comes now is past the ttl_ms of the queue; 0: never.
local function expiry_here()
  local ttl_ms = queue.rules and queue.rules.ttl_ms
  return ttl_ms and now + ttl_ms or 0
end

-- letters_room(): how many dead letters the queue accepts as a dead_letter_queue: as many as its
-- max_messages leaves room for; none if it does not exist, since a move creates no queue.
local function letters_room()
  if read_store().is_made then
    return 0
  elseif not (queue.rules and queue.rules.max_messages) then
    return math.huge
  end
  local ready, blocked, delayed, in_flight = room_counts()
  return math.max(queue.rules.max_messages - ready - blocked - delayed - in_flight, 0)
end
