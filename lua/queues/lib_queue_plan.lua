-- A plan of writes. Nothing is written before commit(), which first looks at the type of every key
-- and reads the wait queue: a key of another type leaves nothing half done. This part must not know
-- which script plans. Needs queues/lib_queue_settings.lua and queues/lib_queue_change.lua.
--@include queue_writes queue_rate queue_groups queue_waiters queue_room
local dropped, died = 0, 0
local finished = {} -- sequences of messages that end
local comes_sooner = false -- a message may be due before the waiters look
local touched = {} -- groups that may have another next message now, each once
local makes_room = false -- there may be fewer messages
local store_read -- of queues/lib_queue_store.lua
local follow

local function touch(group)
  if not touched[group] then
    touched[group] = true
    touched[#touched + 1] = group
  end
end

-- commit(serves_later): writes the plan. With serves_later the script serves the waiters itself,
-- once it knows what is left for them.
local function commit(serves_later)
  if not planned[1] then
    return
  end
  check_types()
  if touched[1] or planned['ZADD' .. groups_key] or planned['ZREM' .. groups_key] then
    check_groups()
  end
  local serves = (comes_sooner or is_full or touched[1]) and not serves_later
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
  write_planned()
  for _, group in ipairs(touched) do
    promote(group)
  end
  write_planned()
  if serves then
    serve_waiters()
  end
  if makes_room then
    serve_senders()
  end
  if finished[1] and queue_rules and queue_rules:find('^result_ms') then
--@include queue_result
    wake_waiters(finished)
  end
  finished, dropped, died, comes_sooner, makes_room, touched = {}, 0, 0, false, false, {}
end

-- unmark(m): plans that the marks of its group do not count a message any more. A blocked message
-- has no mark, and a dead letter has none any more.
local function unmark(m)
  if m.group == '' or m.place == order_key or m.place == dead_key then
    return
  end
  touch(m.group)
  local is_known = m.place ~= flight_key or tonumber(m.priority or '')
  if is_known then
    local place = m.place == flight_key and place_of(m) or m.member:sub(1, 18)
    plan('ZREM', busy_key, m.group .. HEAD .. place, m.group .. TAKEN .. place)
    return
  end
  for priority = 0, 9 do -- its state, which names the mark, was lost
    plan('ZREM', busy_key, m.group .. TAKEN .. priority .. m.seq .. '-', m.group .. TAKEN .. priority .. m.seq .. 'b')
  end
end

-- plan_ttl(m): plans that a message with a ttl is found once that has ended.
local function plan_ttl(m)
  if m.expires_at > 0 then
    plan('ZADD', groups_key, '-' .. digits(m.expires_at), 't' .. m.seq)
  end
end

-- forget(m): plans that a message and its id are gone for good.
local function forget(m)
  plan('ZREM', m.place, m.member)
  plan('HDEL', queue_key, m.seq, m.seq .. 's')
  if (m.expires_at or 0) > 0 then
    plan('ZREM', groups_key, 't' .. m.seq)
  end
  unmark(m)
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

-- drop(m): as forget(), for a message past its time, which is counted. A lost message, and a dead
-- letter past its retention, are not counted.
local function drop(m)
  forget(m)
  if has_mark(m, 'a') then
    follow(m)
  end
  if not m.lost and m.place ~= dead_key then
    dropped = dropped + 1
  end
end

-- move(m, key, score, member): plans that a message leaves its place, if it has one, and is in
-- `key` under `member`.
local function move(m, key, score, member)
  if m.place then
    plan('ZREM', m.place, m.member)
  end
  plan('ZADD', key, score, member)
  if not m.is_stateless then
    plan('HSET', queue_key, m.seq .. 's', state_of(m))
  end
end

-- put_due_of_group(m): plans that a message of a group is due at m.at. In a strict queue a message
-- that was delivered keeps its group, and so its mark, until it is gone, unless it was put back
-- because its group was held. Any other message takes its place among the messages of its group.
local function put_due_of_group(m)
  local keeps = rules and rules.order == 'strict'
    and (m.place == flight_key or m.place == delayed_key or m.receives > 0)
  if keeps and m.place == delayed_key then
    keeps = redis.call('ZSCORE', busy_key, m.group .. TAKEN .. m.member:sub(1, 18))
  elseif keeps then
    keeps = m.place == flight_key or m.place == ready_key
  end
  if m.place then
    unmark(m)
  end
  touch(m.group)
  if keeps then
    plan('ZADD', busy_key, '0', m.group .. TAKEN .. place_of(m))
  end
  if m.at > now then
    move(m, delayed_key, digits(m.at), member_of(m))
  elseif keeps then
    move(m, ready_key, ready_score(m), member_of(m))
  else
    move(m, order_key, '0', m.group .. '\0' .. place_of(m))
  end
end

-- put_due(m): plans that a message is due at m.at: it is ready, blocked or delayed.
local function put_due(m)
  check_types() -- which reads the rules
  if m.group ~= '' then
    put_due_of_group(m)
  elseif m.at <= now then
    move(m, ready_key, ready_score(m), member_of(m))
  else
    move(m, delayed_key, digits(m.at), member_of(m))
  end
  comes_sooner = true
end

-- give_up_id(m): plans that a dead letter is known by its sequence from now on, since another
-- message has its id.
local function give_up_id(m)
  local content = m.content or redis.call('HGET', queue_key, m.seq)
  local header = read_header(content)
  header.id, m.id, m.marks = '', '', ''
  plan('HSET', queue_key, m.seq, header_of(header) .. body_of(content))
end

-- settle(m, state): plans what end_delivery or end_visibility returned
-- (queues/deliveries/lib_queue_ended.lua).
local function settle(m, state)
  if state == 'expired' then
    drop(m)
  elseif state == 'dead' then
    if has_mark(m, 'a') then
      follow(m)
      give_up_id(m)
    end
    move(m, dead_key, digits(m.at), member_of(m))
    unmark(m)
    died = died + 1
    makes_room = true
    finished[#finished + 1] = m.seq
  else
    put_due(m)
  end
end

-- follow(m): plans that the message which waits for the end of m (its mark 'a') is stored, under
-- the id of m.
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
