-- A plan of writes. Nothing is written before commit(), which first looks at the type of every key
-- and reads the wait queue: a key of another type leaves nothing half done.

local function touch(group)
  if not queue.touched[group] then
    queue.touched[group] = true
    queue.touched[#queue.touched + 1] = group
  end
end

-- commit(serves_later): writes the plan. With serves_later the script serves the waiters itself,
-- once it knows what is left for them.
local function commit(serves_later)
  if not queue.planned[1] then
    return
  end
  check_types()
  if queue.touched[1] or queue.planned['ZADD' .. keys[GROUPS]] or queue.planned['ZREM' .. keys[GROUPS]] then
    check_groups()
  end
  local serves = (queue.comes_sooner or queue.is_full or queue.touched[1]) and not serves_later
  if serves then
    read_waiters()
  end
  if queue.makes_room then
    read_room()
  end
  if queue.dropped > 0 then
    redis.call('HINCRBY', keys[QUEUE], 'expired', format('%d', queue.dropped))
  end
  if queue.died > 0 then
    redis.call('HINCRBY', keys[QUEUE], 'died', format('%d', queue.died))
    queue.moves = queue.rules and queue.rules.dead_letter_queue and true -- for the reply
  end
  plan_failures()
  write_planned()
  for _, group in ipairs(queue.touched) do
    promote(group)
  end
  write_planned()
  if serves then
    serve_waiters()
  end
  if queue.makes_room then
    serve_senders()
  end
  if queue.finished[1] and queue.rules_text and queue.rules_text:find('^result_ms') then
    wake_waiters(queue.finished)
  end
  queue.finished, queue.touched, queue.dropped, queue.died = {}, {}, 0, 0
  queue.comes_sooner, queue.makes_room = false, false
end

-- unmark(m): plans that the marks of its group do not count a message any more. A blocked message
-- has no mark, and a dead letter has none any more.
local function unmark(m)
  if m.group == '' or m.place == keys[ORDER] or m.place == keys[DEAD] then
    return
  end
  touch(m.group)
  local is_known = m.place ~= keys[FLIGHT] or tonumber(m.priority or '')
  if is_known then
    local place = m.place == keys[FLIGHT] and place_of(m) or m.member:sub(1, 18)
    plan('ZREM', keys[BUSY], m.group .. HEAD .. place, m.group .. TAKEN .. place)
    return
  end
  for priority = 0, 9 do -- its state, which names the mark, was lost
    plan('ZREM', keys[BUSY], m.group .. TAKEN .. priority .. m.seq .. '-', m.group .. TAKEN .. priority .. m.seq .. 'b')
  end
end

-- plan_ttl(m): plans that a message with a ttl is found once its ttl has ended.
local function plan_ttl(m)
  if m.expires_at > 0 then
    plan('ZADD', keys[GROUPS], '-' .. format('%d', m.expires_at), 't' .. m.seq)
  end
end

-- forget(m): plans that a message and its id are gone for good.
local function forget(m)
  plan('ZREM', m.place, m.member)
  if m.place == keys[DELAYED] and (m.receives or 0) > 0 then
    note_retries(-1)
  end
  plan('HDEL', keys[QUEUE], m.seq, m.seq .. 's')
  if (m.expires_at or 0) > 0 then
    plan('ZREM', keys[GROUPS], 't' .. m.seq)
  end
  unmark(m)
  if m.place ~= keys[DEAD] then
    queue.finished[#queue.finished + 1] = m.seq
    queue.makes_room = true
  end
  if m.id and m.id ~= '' then
    plan('HDEL', keys[IDS], m.id)
    if has_mark(m, 'a') then
      plan('HDEL', keys[QUEUE], '~' .. m.id)
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
  if not m.lost and m.place ~= keys[DEAD] then
    queue.dropped = queue.dropped + 1
  end
end

-- move(m, key, score, member): plans that a message leaves its place, if it has one, and is in
-- `key` under `member`.
local function move(m, key, score, member)
  if m.place then
    plan('ZREM', m.place, m.member)
  end
  if m.receives > 0 then
    note_retries((key == keys[DELAYED] and 1 or 0) - (m.place == keys[DELAYED] and 1 or 0))
  end
  plan('ZADD', key, score, member)
  if not m.is_stateless then
    plan('HSET', keys[QUEUE], m.seq .. 's', state_of(m))
  end
end

-- put_due_of_group(m): plans that a message of a group is due at m.at. In a strict queue a message
-- that was delivered keeps its group, and so its mark, until it is gone, unless it was put back
-- because its group was held. Any other message takes its place among the messages of its group.
local function put_due_of_group(m)
  local keeps = queue.rules and queue.rules.order == 'strict'
    and (m.place == keys[FLIGHT] or m.place == keys[DELAYED] or m.receives > 0)
  if keeps and m.place == keys[DELAYED] then
    keeps = redis.call('ZSCORE', keys[BUSY], m.group .. TAKEN .. m.member:sub(1, 18))
  elseif keeps then
    keeps = m.place == keys[FLIGHT] or m.place == keys[READY]
  end
  if m.place then
    unmark(m)
  end
  touch(m.group)
  if keeps then
    plan('ZADD', keys[BUSY], '0', m.group .. TAKEN .. place_of(m))
  end
  if m.at > now then
    move(m, keys[DELAYED], format('%d', m.at), member_of(m))
  elseif keeps then
    move(m, keys[READY], ready_score(m), member_of(m))
  else
    move(m, keys[ORDER], '0', m.group .. '\0' .. place_of(m))
  end
end

-- put_due(m): plans that a message is due at m.at: it is ready, blocked or delayed.
local function put_due(m)
  check_types() -- which reads the rules
  if m.group ~= '' then
    put_due_of_group(m)
  elseif m.at <= now then
    move(m, keys[READY], ready_score(m), member_of(m))
  else
    move(m, keys[DELAYED], format('%d', m.at), member_of(m))
  end
  queue.comes_sooner = true
end

-- give_up_id(m): plans that a dead letter is known by its sequence from now on, since another
-- message has its id.
local function give_up_id(m)
  local content = m.content or redis.call('HGET', keys[QUEUE], m.seq)
  local header = read_header(content)
  header.id, m.id, m.marks = '', '', ''
  plan('HSET', keys[QUEUE], m.seq, header_of(header) .. body_of(content))
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
    move(m, keys[DEAD], format('%d', m.at), member_of(m))
    unmark(m)
    queue.died = queue.died + 1
    note_death(m)
    queue.makes_room = true
    queue.finished[#queue.finished + 1] = m.seq
  else
    put_due(m)
  end
end

-- follow(m): plans that the message which waits for the end of m (its mark 'a') is stored, under
-- the id of m.
local function follow(m)
  local waiting = redis.call('HGET', keys[QUEUE], '~' .. m.id)
  local due_at, content = (waiting or ''):match('^(%d+)\n(.*)$')
  plan('HDEL', keys[QUEUE], '~' .. m.id)
  plan('HDEL', keys[IDS], m.id)
  if not content then
    return
  end
  local next_run = read_header(content)
  next_run.at = math.max(tonumber(due_at), now)
  if is_expired(next_run) then
    queue.dropped = queue.dropped + 1
  else
    store(next_run, body_of(content))
    plan_stored()
  end
end
