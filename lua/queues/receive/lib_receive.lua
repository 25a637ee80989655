-- What queue_message_receive does with one of its queues, in this order: it looks at the queue,
-- plans what time has changed, chooses messages, and writes. All reads come before all writes.
-- `request` is what was asked for, and what is left of it.
local request

-- receive_rules(): what the rules of the queue leave. A message that is acknowledged at once does
-- not count for `concurrency`. Returns whether groups are held whose instant has come.
local function receive_rules()
  local all = queue.rules or {}
  queue.result_ms = queue.rules_text and tonumber(queue.rules_text:match('^result_ms=(%d+)'))
  queue.policy = all.policy
  if all.dead_letter_queue then
    redis.call('ZCARD', keys[DEAD]) -- it is read again after the writes
  end
  queue.is_held = all.policy and (redis.call('HGET', keys[QUEUE], 'held_until') or '') > instant
  local budget, _, stored = budget_of(request.acknowledges and { rate = all.rate } or all)
  queue.room, queue.rate_stored = budget, stored
  return (queue.rules or queue.group_paused_until > 0) and redis.call('ZCOUNT', keys[GROUPS], '0', instant) > 0
end

-- receive_look(number): reads the queue, and finds out whether there is more to do than to hand out
-- messages. `known` has what the plain block has read.
local function receive_look(number)
  local seen = known or {}
  local settings = seen.settings or redis.call('HMGET', keys[QUEUE], 'paused', 'visibility_ms', 'trim_at',
    'schedule_at', 'layout', 'rules', 'group_paused_until')
  check_layout(settings[5])
  local visibility_ms = request.visibility_ms
  if visibility_ms < 0 then
    visibility_ms = tonumber(settings[2] or 30000)
  end
  queue.due = seen.due or redis.call('ZCOUNT', keys[DELAYED], '-inf', instant)
  queue.back = seen.back or redis.call('ZCOUNT', keys[FLIGHT], '0', instant)
  queue.trims = (not settings[3] or settings[3] <= instant)
    and redis.call('EXISTS', keys[FLIGHT], keys[DEAD], keys[DONE], keys[GROUPS]) > 0
  queue.number, queue.keys, queue.room = number, keys, request.most
  queue.visible_until = now + (visibility_ms or 0)
  queue.delivered = request.nonce .. format('%d', queue.visible_until)
  queue.ends = queue.delivered:sub(17)
  queue.members, queue.flight, queue.states, queue.taken = {}, {}, {}, 0
  queue.is_awaited = (seen.waiters or redis.call('ZCARD', keys[WAITERS])) > 0
  queue.is_paused, queue.schedule_at = pause_end(settings[1]) > now, tonumber(settings[4] or math.huge)
  queue.fires = not queue.is_paused and queue.schedule_at <= now
  local unholds = false
  if settings[6] or settings[7] then
    queue.rules_text, queue.rules = settings[6], settings[6] and read_rules(settings[6])
    queue.group_paused_until = tonumber(settings[7] or 0)
    unholds = receive_rules()
  end
  queue.unholds = unholds
  queue.changes = queue.trims or queue.fires or unholds or queue.due > 0 or queue.back > 0
  request.lasts_ms = math.max(request.lasts_ms, visibility_ms or 0)
  if queue.changes or request.acknowledges or request.queue_count > 1 or not visibility_ms then
    check_types()
    if not visibility_ms then
      foreign('a hash that is not a queue')
    end
  end
end

-- receive_plan(): reads and plans what time has changed, and reads the wait queue.
local function receive_plan()
  if queue.is_awaited then
    local w = waiters_read(keys[QUEUE], keys[WAITERS], now, request.ticket)
    queue.line = w
    queue.has_turn = request.ticket == '' or w.is_called or waiters_is_next(w, now_us, request.waited_us)
  end
  if not queue.changes then
    return
  end
  queue.has_timed = queue.trims and trim()
  queue.reached_bound = queue.back > 0 and plan_ended('100') == 100
  if queue.due > 0 then
    queue.reached_bound = plan_due('500') == 500 or queue.reached_bound
  end
  if queue.unholds then
    plan_unheld()
  end
  if queue.touched[1] or queue.has_timed then
    check_groups()
  end
end

-- receive_change(): writes what time has changed.
local function receive_change()
  if not queue.changes then
    return
  end
  commit(true)
  if queue.has_timed then -- once it is known where the messages are
    if plan_past_ttl('100') == 100 then
      plan('HSET', keys[QUEUE], 'trim_at', '0')
    end
    commit(true)
  end
  if queue.fires then
    local fired
    fired, queue.schedule_at = fire_due()
    queue.reached_bound = queue.reached_bound or fired == 50
  end
end

-- receive_rate(g, stored): what the rate of group g leaves.
local function receive_rate(g, stored)
  local left = rate_room(queue.rules.group_rate, stored)
  g.rate_stored, g.until_us = stored, nil
  if left < 1 then
    g.until_us = math.max(rate_opens_at(queue.rules.group_rate, stored), now_us + 1)
  end
  return left
end

-- receive_group(name): a group, which is read once: `room` is how many of its messages may be
-- handed out, `until_us` when its pause or its spent rate ends.
local function receive_group(name)
  local rules = queue.rules or {}
  if not queue.groups then
    queue.is_strict = rules.order == 'strict'
    queue.groups, queue.loses, queue.gains, queue.leaves, queue.joins = {}, {}, {}, {}, {}
    queue.heads, queue.scores = {}, {}
  end
  local g = queue.groups[name]
  if g then
    return g
  end
  g = { name = name, room = math.huge, taken = 0, read = 0 }
  if queue.is_strict then
    g.room = request.acknowledges and math.huge or 1
  elseif rules.group_concurrency then
    local taken = redis.call('ZLEXCOUNT', keys[BUSY], '[' .. name .. TAKEN, '(' .. name .. PAST_MARKS)
    g.room = rules.group_concurrency - taken
    g.room = request.acknowledges and g.room > 0 and math.huge or g.room
  end
  if rules.group_rate or queue.group_paused_until > now then
    local stored = redis.call('ZMSCORE', keys[GROUPS], 'p' .. name, 'r' .. name)
    if rules.group_rate then
      g.room = math.min(g.room, receive_rate(g, stored[2] or '0'))
    end
    if tonumber(stored[1] or 0) > now_us then
      g.room, g.until_us = 0, math.max(g.until_us or 0, tonumber(stored[1]))
    end
  end
  queue.groups[name] = g
  queue.groups[#queue.groups + 1] = g
  return g
end

-- receive_round(round): a page of the blocked messages that the groups of a round have at its
-- priority, in turns. Each group has an equal share of the room that is left in the reply. Also
-- returns the next round, nil at the end.
local function receive_round(round)
  local each = math.ceil((request.last_count - request.reply[1]) / #round)
  local rows, going = {}, { priority = round.priority }
  for x, g in ipairs(round) do
    local wanted = math.min(each, g.room, 100)
    local from = '[' .. g.name .. '\0' .. string.char(round.priority)
    local to = '(' .. g.name .. '\0' .. string.char(round.priority + 1)
    rows[x] = wanted >= 1 and redis.call('ZRANGE', keys[ORDER], from, to, 'BYLEX', 'LIMIT', format('%d', g.read),
      format('%d', wanted)) or {}
    g.read = g.read + #rows[x]
    if wanted >= 1 and #rows[x] == wanted then
      going[#going + 1] = g
    end
  end
  local page = {}
  for y = 1, each do
    for x, g in ipairs(round) do
      if rows[x][y] then
        page[#page + 1] = rows[x][y]:sub(#g.name + 2) .. g.name
      end
    end
  end
  return page, going[1] and going or nil
end

-- receive_expired(m): a message past its ttl is not handed out, but dropped.
local function receive_expired(m)
  queue.gone, queue.dropped_ids, queue.ended = queue.gone or {}, queue.dropped_ids or {}, queue.ended or {}
  append(queue.gone, m.seq, m.seq .. 's')
  queue.ended[#queue.ended + 1] = m.seq
  queue.dropped = queue.dropped + 1
  if m.id ~= '' then
    queue.dropped_ids[#queue.dropped_ids + 1] = m.id
  end
end

-- receive_options(member, content, state): a message with options, or one that was delivered
-- before. Returns its next state (nil: it is not handed out), and the message: its id, `g`, its
-- group, is_last, whether another one waits for its end, and is_refused, whether its group has no
-- room.
local function receive_options(member, content, state)
  if not state then -- without a ttl and a group, the state has the same options
    local options, id = content:match('^\t(0\t%d+\t([^\t\n]*)\t\t[%d:]*)\n', 15)
    if options then
      return queue.delivered .. member:sub(1, 1) .. '-1\t' .. options .. '\t\t\t' .. request.worker .. '\t', { id = id }
    end
  end
  local m = state and read_state(state) or read_header(content)
  m.seq, m.g = member:sub(2, 17), m.group ~= '' and receive_group(m.group) or nil
  local is_past = m.expires_at > 0 and m.expires_at <= now
  m.is_last = has_mark(m, 'a') and (request.acknowledges or is_past)
  if m.is_last then
    check_types()
  end
  if m.expires_at > 0 then
    redis.call('ZCARD', keys[GROUPS])
  end
  if is_past then
    receive_expired(m)
    if m.is_last then
      queue.followed = queue.followed or {}
      queue.followed[#queue.followed + 1] = m
    end
    return nil, m
  elseif m.g and m.g.room < 1 then
    m.is_refused = true
    return nil, m
  end
  m.nonce, m.ends, m.receives, m.priority, m.worker =
    request.nonce, queue.ends, m.receives + 1, member:sub(1, 1), request.worker
  return state_of(m), m
end

-- receive_note(g, member, is_taken, is_refused, from_order): what becomes of a message of a group.
-- Returns whether the group may have more at this priority.
local function receive_note(g, member, is_taken, is_refused, from_order)
  local place = member:sub(1, 18)
  local blocked = g.name .. '\0' .. place
  g.is_met = true
  if not from_order then
    queue.members[#queue.members + 1] = member
    if not queue.is_strict or request.acknowledges or not is_taken then
      queue.loses[#queue.loses + 1] = g.name .. (queue.is_strict and TAKEN or HEAD) .. place
    end
    if is_refused then
      append(queue.joins, '0', blocked)
    end
  elseif not is_refused then
    queue.leaves[#queue.leaves + 1] = blocked
    queue.leaves[blocked] = true
  end
  if is_taken then
    g.room, g.taken = g.room - 1, g.taken + 1
    if not request.acknowledges and (from_order or not queue.is_strict) then -- a strict head has that mark already
      append(queue.gains, '0', g.name .. TAKEN .. place)
    end
  end
  return g.room >= 1 and not from_order
end

-- receive_hand_out(seq, content, state, m): a message is in the reply. m is nil without options.
local function receive_hand_out(seq, content, state, m)
  if m and m.is_last then
    queue.followed = queue.followed or {}
    queue.followed[#queue.followed + 1] = { id = m.id }
  elseif m and request.acknowledges and m.id ~= '' then
    queue.ids = queue.ids or {}
    queue.ids[#queue.ids + 1] = m.id
  end
  if m and request.acknowledges and (m.expires_at or 0) > 0 then
    queue.timed = queue.timed or {}
    queue.timed[#queue.timed + 1] = 't' .. seq
  end
  local field, count = seq .. 's', request.reply[1] + 1
  request.bytes = request.bytes + #content - 15
  request.reply[1] = count
  request.reply[count + 4] = { seq, content, state, request.acknowledges and 0 or queue.visible_until, queue.number }
  append(queue.states, field, state)
  append(queue.flight, queue.ends, m and m.g and field .. m.g.name or field)
  queue.taken = queue.taken + 1
end

-- receive_row(page, at): reads a row of small messages, or one large message. Returns what is
-- stored, two per message, and the index behind the row.
local function receive_row(page, at)
  if known and known.row then
    local row = known.row
    known.row = nil
    return row, #page + 1
  end
  local fields, from = {}, at
  repeat
    local seq = page[at]:sub(2, 17)
    append(fields, seq, seq .. 's')
    at = at + 1
  until not page[at] or page[at]:byte(18) == 98 or page[from]:byte(18) == 98 -- 'b'
  return redis.call('HMGET', keys[QUEUE], unpack(fields)), at
end

-- receive_page(page, from_order, met): takes the messages of a page until the reply is full. `met`
-- are groups with more messages at this priority. Returns these groups, and where the page was cut
-- because of them (nil: it was not cut).
local function receive_page(page, from_order, met)
  local at = 1
  while page[at] and request.has_room and not request.is_full do
    local row, stored = at, nil
    stored, at = receive_row(page, at)
    for k = row, at - 1 do
      local member, content, state = page[k], stored[2 * (k - row) + 1], stored[2 * (k - row) + 2]
      if met and member:byte() ~= met.priority then -- the groups in `met` come first, up to their priority
        return met, k
      end
      local seq, taken, m, g = member:sub(2, 17), nil, nil, nil
      if content and not state and content:byte(15) == 10 then -- not delivered yet, without options
        taken = queue.delivered .. member:sub(1, 1) .. request.first_state
      elseif content then
        taken, m = receive_options(member, content, state)
        g = m.g
      else
        queue.gone = queue.gone or {}
        append(queue.gone, seq, seq .. 's')
        g = #member > 18 and receive_group(member:sub(19)) or nil
      end
      if taken and request.reply[1] == request.last_count then
        request.has_room = false
        return met, nil
      elseif taken and request.reply[1] > 0 and request.bytes + #content - 15 > 1048576 then
        request.is_full = true
        return met, nil
      elseif taken then
        receive_hand_out(seq, content, taken, m)
      end
      request.looked_at = request.looked_at + 1
      if not g then
        queue.members[#queue.members + 1] = member
      elseif receive_note(g, member, taken, m and m.is_refused, from_order) then
        met = met or { priority = member:byte() }
        met[#met + 1] = g
      end
    end
  end
  return met, nil
end

-- receive_heads(): for each group that was met, its first blocked message becomes its head if there
-- is room for it; otherwise the group may be held.
local function receive_heads()
  if request.queue_count > 1 then
    check_groups()
  end
  for _, g in ipairs(queue.groups) do
    if g.taken > 0 and g.rate_stored then
      local spent = rate_spent(queue.rules.group_rate, g.rate_stored, g.taken)
      append(queue.scores, spent, 'r' .. g.name)
      g.room = math.min(g.room, receive_rate(g, spent))
    end
    local name, place = g.name, nil
    if g.is_met and (g.room >= 1 or g.until_us) then
      for _, blocked in ipairs(redis.call('ZRANGE', keys[ORDER], '[' .. name .. '\0', '(' .. name .. PAST_PLACES,
        'BYLEX', 'LIMIT', '0', format('%d', g.read + 1))) do
        if not queue.leaves[blocked] then
          place = blocked:sub(#name + 2)
          break
        end
      end
    end
    if g.room >= 1 and place then
      queue.leaves[#queue.leaves + 1] = name .. '\0' .. place
      append(queue.heads, turn_of(place), place .. name)
      append(queue.gains, '0', name .. (queue.is_strict and TAKEN or HEAD) .. place)
    elseif g.is_met and g.until_us and (place or queue.joins[1]) then
      append(queue.gains, '0', name .. HELD)
      append(queue.scores, format('%d', math.max(math.ceil(g.until_us / 1000), now + 1)), 'h' .. name)
      local mended = g.rate_stored and rate_mended(queue.rules.group_rate, g.rate_stored)
      if mended then
        append(queue.scores, mended, 'r' .. name)
      end
    end
  end
end

-- receive_choose(): chooses the messages that the queue hands out.
local function receive_choose()
  local before, reply = request.reply[1], request.reply
  request.last_count = math.min(request.most, before + queue.room)
  request.has_room = (queue.has_turn or not queue.is_awaited) and not queue.is_paused and not queue.is_held
  local first, round, met, is_ready_over = 0, nil, nil, false
  while request.has_room and reply[1] < request.last_count and request.looked_at < 1000 and not request.is_full do
    local page, cut, from_order = nil, nil, round ~= nil
    local count = first == 0 and request.last_count - reply[1] or 100
    if round then
      page, round = receive_round(round)
    else
      local last = first + count - 1
      page = first == 0 and known and known.page or redis.call('ZRANGE', keys[READY],
        first == 0 and '0' or format('%d', first), last == 0 and '0' or format('%d', last))
    end
    met, cut = receive_page(page, from_order, met)
    if not from_order then
      first = first + (cut and cut - 1 or #page)
      is_ready_over = is_ready_over or not cut and #page < count
    end
    if met and not from_order and (cut or is_ready_over) then
      round, met = met, nil
    elseif is_ready_over and not round then
      break
    end
  end
  if queue.groups then
    receive_heads()
  end
  if queue.rules and queue.rules.rate then
    queue.spent = reply[1] - before
  end
  if reply[1] == 0 and not queue.is_paused and not queue.is_held
    and (request.looked_at >= 1000 or queue.reached_bound) then
    reply[3] = 1
  end
end

-- receive_write_groups(): writes the marks and places of groups. The marks come first: if they have
-- another type, nothing was written yet.
local function receive_write_groups()
  if queue.loses[1] then
    redis.call('ZREM', keys[BUSY], unpack(queue.loses))
  end
  if queue.leaves[1] then
    redis.call('ZREM', keys[ORDER], unpack(queue.leaves))
  end
  if queue.joins[1] then
    redis.call('ZADD', keys[ORDER], unpack(queue.joins))
  end
  if queue.heads[1] then
    redis.call('ZADD', keys[READY], unpack(queue.heads))
  end
  if queue.gains[1] then
    redis.call('ZADD', keys[BUSY], unpack(queue.gains))
  end
  if queue.scores[1] then
    redis.call('ZADD', keys[GROUPS], unpack(queue.scores))
  end
end

-- receive_write_done(): writes that the messages of the reply are acknowledged at once.
local function receive_write_done()
  local states, result_ms = queue.states, queue.result_ms or 0
  queue.gone, queue.ended = queue.gone or {}, queue.ended or {}
  local remembered_until = format('%d', now + math.max(REMEMBERED_MS, result_ms))
  for k = 1, #states, 2 do
    local seq = states[k]:sub(1, 16)
    queue.ended[#queue.ended + 1] = seq
    queue.gone[#queue.gone + 1] = seq
    if result_ms > 0 then
      queue.flight[k] = '-' .. remembered_until
      states[k + 1] = done_state(states[k + 1], remembered_until, '-', result_ms)
    else
      queue.gone[#queue.gone + 1] = states[k]
    end
  end
  if queue.ids then
    remember_ids(queue.ids, result_ms)
  end
  if result_ms > 0 then
    redis.call('ZADD', keys[FLIGHT], unpack(queue.flight))
    redis.call('HSET', keys[QUEUE], unpack(states))
  end
end

-- receive_write(): writes what was chosen.
local function receive_write()
  local makes_room = queue.dropped > 0 or request.acknowledges and queue.states[1]
  if makes_room then
    read_room()
  end
  if queue.groups then
    receive_write_groups()
  end
  if (queue.spent or 0) > 0 then
    redis.call('ZADD', keys[GROUPS], rate_spent(queue.rules.rate, queue.rate_stored, queue.spent), 'q')
  end
  if queue.timed then
    redis.call('ZREM', keys[GROUPS], unpack(queue.timed))
  end
  if queue.dropped > 0 then
    redis.call('HLEN', keys[IDS])
    redis.call('HINCRBY', keys[QUEUE], 'expired', format('%d', queue.dropped))
    if queue.dropped_ids[1] then
      redis.call('HDEL', keys[IDS], unpack(queue.dropped_ids))
    end
    queue.dropped = 0
  end
  if queue.members[1] then
    redis.call('ZREM', keys[READY], unpack(queue.members))
  end
  if request.acknowledges and queue.states[1] then
    receive_write_done()
  elseif queue.states[1] then
    redis.call('ZADD', keys[FLIGHT], unpack(queue.flight))
    redis.call('HSET', keys[QUEUE], unpack(queue.states))
  end
  if queue.gone then
    redis.call('HDEL', keys[QUEUE], unpack(queue.gone))
  end
  if makes_room then
    serve_senders()
  end
  if queue.ended and queue.result_ms then
    wake_waiters(queue.ended)
  end
  if queue.followed then
    for _, m in ipairs(queue.followed) do
      follow(m)
    end
    commit(true)
    request.reply[3] = request.reply[1] == 0 and not queue.is_paused and 1 or request.reply[3]
  end
end

-- receive_wait(): has the ticket of the request join or leave the wait queue, and serves waiters
-- with the messages that are left.
local function receive_wait()
  local reply = request.reply
  local waits_on = request.ticket ~= '' and request.wait_ms > 0 and reply[1] == 0 and reply[3] == 0
  if not queue.is_awaited and not waits_on then
    return
  end
  local w = queue.line or waiters_read(keys[QUEUE], keys[WAITERS], now, request.ticket)
  waiters_settle(w)
  if waits_on then
    waiters_join(w, now_us, request.waited_us)
  elseif request.ticket ~= '' and reply[3] == 0 then
    waiters_leave(w)
  end
  serve(w)
  if w.look_at and (reply[4] < 0 or w.look_at < reply[4]) then
    reply[4] = w.look_at
  end
end

-- receive_again(granted, proof): a replay: the deliveries that are still current, or all if they
-- were done at once.
local function receive_again(granted, proof)
  local current = { granted[1], now, 0, -1 }
  for i = 5, #granted do
    local item = granted[i]
    local is_kept = proof == 'done'
    if item[1] == '' then -- its policy has not decided yet
      if now - granted[2] < 2000 then
        return { -2, now }
      end
      is_kept = true
    elseif not is_kept then
      local hash = KEYS[item[5] * QUEUE_KEYS + 1]
      local state = redis.call('HGET', hash, item[1] .. 's')
      local is_same = state and state:sub(1, 16) == item[3]:sub(1, 16) and state:sub(17, 29) > instant
      -- The content of a cancelled message is gone.
      is_kept = is_same and redis.call('HEXISTS', hash, item[1]) == 1
      item[4] = is_kept and tonumber(state:sub(17, 29)) or item[4]
    end
    if is_kept then
      current[#current + 1] = item
    end
  end
  return current
end
