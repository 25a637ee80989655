-- A plan of writes. Nothing is written before commit(), which first looks at the type of every key
-- and reads the wait queue: a foreign one half-applies nothing. Removals come before additions, one
-- command a key and verb. Wants queues/lib_queue_settings.lua and queues/lib_queue_change.lua.
local planned, dropped, died = {}, 0, 0
local finished = {} -- sequences of messages that end
local comes_sooner = false -- a message may be due before the waiters look
local makes_room = false -- there may be fewer messages
local store_read -- of queues/lib_queue_store.lua
local follow
local function plan(verb, key, a, b)
  local name = verb .. key
  local command = planned[name]
  if not command then
    command = { verb, key }
    planned[name] = command
    planned[#planned + 1] = command
  end
  command[#command + 1] = a
  command[#command + 1] = b
end

--@include queue_waiters queue_room

-- serves_later: the script serves the waiters itself, once it knows what is left for them.
local function commit(serves_later)
  if not planned[1] then
    return
  end
  check_types()
  local serves = comes_sooner and not serves_later
  if serves then
    read_waiters()
  end
  if makes_room then
    read_room()
  end
  if dropped > 0 then
    redis.call('HINCRBY', queue_key, 'expired', digits(dropped))
  end
  if died > 0 then
    redis.call('HINCRBY', queue_key, 'died', digits(died))
  end
  for _, c in ipairs(planned) do
    if c[1] == 'ZREM' or c[1] == 'HDEL' then
      redis.call(unpack(c))
    end
  end
  for _, c in ipairs(planned) do
    if c[1] == 'ZADD' or c[1] == 'HSET' then
      redis.call(unpack(c))
    end
  end
  if serves then
    serve_waiters()
  end
  if makes_room then
    serve_senders()
  end
  if finished[1] and queue_rules and queue_rules:find('result_ms', 1, true) then
--@include queue_result
    wake_waiters(finished)
  end
  planned, finished, dropped, died, comes_sooner, makes_room = {}, {}, 0, 0, false, false
end

-- Plans that a message is gone for good, its id with it.
local function forget(m)
  plan('ZREM', m.place, m.member)
  plan('HDEL', queue_key, m.seq, m.seq .. 's')
  if m.place ~= dead_key then
    finished[#finished + 1] = m.seq
    makes_room = true
  end
  if m.id and m.id ~= '' then
    plan('HDEL', ids_key, m.id)
    if has_mark(m, 'a') then
      plan('HDEL', queue_key, '~' .. m.id)
    end
  end
end

-- The same for one past its time, and counts it (a dead letter past its retention is no loss to
-- count).
local function drop(m)
  forget(m)
  if has_mark(m, 'a') then
    follow(m)
  end
  if not m.lost and m.place ~= dead_key then
    dropped = dropped + 1
  end
end

-- Plans that a message leaves its place, if it has one, and is in `key` under `member`.
local function move(m, key, score, member)
  if m.place then
    plan('ZREM', m.place, m.member)
  end
  plan('ZADD', key, score, member)
  if not m.is_stateless then
    plan('HSET', queue_key, m.seq .. 's', state_of(m))
  end
end

-- Plans that a message is ready or delayed: it is due at m.at.
local function put_due(m)
  if m.at <= now then
    move(m, ready_key, ready_score(m), member_of(m))
  else
    move(m, delayed_key, digits(m.at), member_of(m))
  end
  comes_sooner = true
end

-- Plans that a dead letter is known by its sequence from now on, since another message has its id.
local function give_up_id(m)
  local content = m.content or redis.call('HGET', queue_key, m.seq)
  local header = read_header(content)
  header.id, m.id, m.marks = '', '', ''
  plan('HSET', queue_key, m.seq, header_of(header) .. body_of(content))
end

-- Plans what end_delivery or end_visibility returned (queues/lib_queue_ended.lua).
local function settle(m, state)
  if state == 'expired' then
    drop(m)
  elseif state == 'dead' then
    if has_mark(m, 'a') then
      follow(m)
      give_up_id(m)
    end
    move(m, dead_key, digits(m.at), member_of(m))
    died = died + 1
    makes_room = true
    finished[#finished + 1] = m.seq
  else
    put_due(m)
  end
end

-- Plans that the message which waits for the end of m (its mark 'a') is stored, under the id of m.
function follow(m)
--@include queue_leap queue_store
  local waiting = redis.call('HGET', queue_key, '~' .. m.id)
  local due_at, content = (waiting or ''):match('^(%d+)\n(.*)$')
  plan('HDEL', queue_key, '~' .. m.id)
  plan('HDEL', ids_key, m.id)
  if not content then
    return
  end
  local next_run = read_header(content)
  next_run.at = math.max(tonumber(due_at), now)
  if is_expired(next_run) then
    dropped = dropped + 1
  else
    store(next_run, body_of(content))
    plan_stored()
  end
end
