-- queue_message_receive: hands out messages that are ready: of the first queue first, then by
-- priority, due time and arrival.
-- KEYS  those of one queue (queues/lib_queue.lua) or of several, in order of preference
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries
--       (16 hex digits), 4 '1': each is done at once, as by queue_delivery_acknowledge; its
--       visible_until_ms is then 0, and queue_delivery_return brings it back by the rest,
--       5 ticket (lib/waiters.lua), '' for a request that does not wait, 6 how long it may still
--       wait, ms; 0: this is its last try, it leaves the wait queues; 7 how long it has waited, us;
--       8 absent or '', or '1': each queue must exist, '2': only whether the one queue does is
--       wanted, 9 the worker, percent-encoded; absent without one
--@reply -1 absent: queue int
--@reply 0..: more int, look_at_ms int, deliveries [queue_delivery]...
--@shape queue_delivery: sequence text, content text, stored_state text, visible_until_ms int,
-- queue int
-- The outcome is how many were taken. more is 1 when nothing was taken but the bound on work was
-- reached: call again. look_at_ms is when a ticket that waits on should try again (-1: when it is
-- notified). queue is counted from 0. absent has the first queue that does not exist; nothing is
-- changed then. A paused queue hands out nothing. A waiter takes nothing while others wait before
-- it: they are called.
-- A replay returns those deliveries that are still current, with the visible_until_ms of now; with
-- ARGV[4] all, as then. Makes the messages of schedules that came due (50). Makes ready what came
-- due (500 a queue; of more at once, the rest follows in the next call, behind what is ready then),
-- settles deliveries whose visibility ended (100), drops messages past their ttl (1000), trims
-- (queues/lib_queue_trim.lua). The bodies of one reply stay within 1 MiB, unless the first alone is
-- longer.
-- Errors: WRONGTYPE, nothing changed. O(queues + taken * log(queue)), whatever waits behind.
-- Runs without memory too: a full Redis must be able to drain.
--@include time queue
--@flags allow-oom
--@idempotent proof
if granted then
  local current = { granted[1], now, 0, -1 }
  for i = 5, #granted do
    local item = granted[i]
    local hash = KEYS[item[5] * 13 + 1]
    local state = redis.call('HGET', hash, item[1] .. 's')
    local is_same = state and state:sub(1, 16) == item[3]:sub(1, 16)
    -- Of a message that was cancelled the content is gone.
    if is_same and state:sub(17, 29) > instant and redis.call('HEXISTS', hash, item[1]) == 1 then
      item[4] = tonumber(state:sub(17, 29))
      current[#current + 1] = item
    elseif item[1] == '' then -- a policy
      current[#current + 1] = item
    end
  end
  return current
end

-- There are no functions here, but in branches that few calls take: to make one costs more than
-- most commands, whenever the script runs.
local most, given_visibility_ms, nonce = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local acknowledges, ticket, wait_ms = ARGV[4] == '1', ARGV[5], ARGV[6] + 0
local must_exist, worker = ARGV[8] and ARGV[8] ~= '', ARGV[9] or ''
local first_state = worker == '' and '-1' or '-1\t0\t0\t\t\t\t\t\t' .. worker .. '\t'
local queue_count = #KEYS / 13
local reply = { 0, now, 0, -1 }
local bytes, looked_at, lasts_ms, is_full = 0, 0, 0, false

-- Whether there is more to do than to take. Of all queues before a key is written.
local queues = {}
for i = 0, queue_count - 1 do
--@include queue_use
  if must_exist and redis.call('EXISTS', queue_key) == 0 then
    return { -1, now, i }
  elseif ARGV[8] == '2' then
    return reply
  end
  local settings = redis.call('HMGET', queue_key, 'paused', 'visibility_ms', 'trim_at', 'schedule_at', 'layout',
    'rules', 'held_until')
  local layout = settings[5]
--@include queue_layout
  local visibility_ms = given_visibility_ms
  if visibility_ms < 0 then
    visibility_ms = tonumber(settings[2] or 30000)
  end
  local due = redis.call('ZCOUNT', delayed_key, '-inf', instant)
  local back = redis.call('ZCOUNT', flight_key, '0', instant)
  local trims = (not settings[3] or settings[3] <= instant) and redis.call('EXISTS', flight_key, dead_key, done_key) > 0
  local q = {
    is_paused = settings[1] == '1', rules = settings[6],
    result_ms = settings[6] and tonumber(settings[6]:match('result_ms=(%d+)')),
    schedule_at = settings[4] and tonumber(settings[4]),
    visible_until = now + (visibility_ms or 0), due = due, back = back, trims = trims,
    is_held = settings[7] and settings[7] > instant,
    policy = settings[6] and not settings[6]:find('^result_ms=') and cmsgpack.unpack(settings[6]).policy,
    members = {}, flight = {}, states = {}, is_awaited = redis.call('ZCARD', waiters_key) > 0,
  }
  q.fires = not q.is_paused and q.schedule_at and q.schedule_at <= now
  queues[i] = q
  lasts_ms = math.max(lasts_ms, visibility_ms or 0)
  if trims or q.fires or due > 0 or back > 0 or acknowledges or queue_count > 1 or not visibility_ms then
--@include queue_types
    check_types()
    if not visibility_ms then
      foreign('a hash that is not a queue')
    end
  end
end

-- The wait queues, and what time has changed, are read of all queues before a key is written.
for i = 0, queue_count - 1 do
--@include queue_use
  local q = queues[i]
  if q.is_awaited then
--@include waiters
    local w = waiters_read(queue_key, waiters_key, now, ticket)
    q.w = w
    q.has_turn = ticket == '' or w.is_called or waiters_is_next(w, clock[1] * 1000000 + clock[2], ARGV[7] + 0)
  end
  if q.trims or q.due > 0 or q.back > 0 or q.fires then
--@include queue_types queue_settings queue_message queue_change queue_plan queue_ended
--@include queue_page queue_trim
    are_checked, queue_rules = true, q.rules -- above
    if q.trims then
      trim()
    end
    q.reached_bound = q.back > 0 and plan_ended('100') == 100
    if q.due > 0 then
      local due = redis.call('ZRANGE', delayed_key, '-inf', instant, 'BYSCORE', 'LIMIT', '0', '500', 'WITHSCORES')
      for k = 1, #due, 2 do
        local score = due[k]:sub(1, 1) .. due[k + 1]
        if not tonumber(score) then
          foreign('a delayed member that is not a message')
        end
        plan('ZADD', ready_key, score, due[k])
        plan('ZREM', delayed_key, due[k])
      end
      q.reached_bound = q.reached_bound or #due == 1000
    end
    q.change = function()
      commit(true)
      if q.fires then
--@include queue_recurrence queue_schedule queue_leap queue_fire
        local fired
        fired, q.schedule_at = fire_due()
        q.reached_bound = q.reached_bound or fired == 50
      end
    end
  end
end

-- What time has changed comes first. Then what can be taken is read, and nothing of it written.
for i = 0, queue_count - 1 do
--@include queue_use
  local q = queues[i]
  if q.change then
    q.change()
  end
  local has_turn = q.has_turn or not q.is_awaited
  local members, flight, states = q.members, q.flight, q.states
  local delivered = nonce .. digits(q.visible_until)
  local ends = delivered:sub(17)
  local first = 0
  while has_turn and not q.is_paused and not q.is_held and reply[1] < most and looked_at < 1000 and not is_full do
    local count = first == 0 and most - reply[1] or 100
    local page = redis.call('ZRANGE', ready_key, digits(first), digits(first + count - 1))
    local at = 1
    while page[at] and not is_full do
      -- What is read at once is a row of small messages, or one large one.
      local fields, row = {}, at
      repeat
        local seq = page[at]:sub(2, 17)
        local n = #fields
        fields[n + 1], fields[n + 2] = seq, seq .. 's'
        at = at + 1
      until not page[at] or page[at]:byte(18) == 98 or page[row]:byte(18) == 98 -- 'b'
      local stored = redis.call('HMGET', queue_key, unpack(fields))
      for k = 1, #fields, 2 do
        local member, content, state = page[row + (k - 1) / 2], stored[k], stored[k + 1]
        local taken, id, group, is_last
        if content and not state and content:byte(15) == 10 then -- not delivered yet, without options
          taken = delivered .. member:sub(1, 1) .. first_state
        elseif not content then
          q.gone = q.gone or {}
          q.gone[#q.gone + 1] = fields[k]
          q.gone[#q.gone + 1] = fields[k + 1]
        else
          if not q.read_state then
--@include queue_types queue_message
            q.read_header, q.read_state, q.state_of, q.check_types = read_header, read_state, state_of, check_types
          end
          local m = state and q.read_state(state) or q.read_header(content)
          is_last = m.marks ~= '' and (acknowledges or m.expires_at > 0 and m.expires_at <= now)
          if is_last then -- another message waits for its end
            q.check_types()
          end
          if m.expires_at > 0 and m.expires_at <= now then
            q.gone, q.dropped_ids, q.dropped = q.gone or {}, q.dropped_ids or {}, (q.dropped or 0) + 1
            q.gone[#q.gone + 1] = fields[k]
            q.gone[#q.gone + 1] = fields[k + 1]
            q.ended = q.ended or {}
            q.ended[#q.ended + 1] = fields[k]
            q.dropped_ids[#q.dropped_ids + 1] = m.id ~= '' and m.id or nil
            if is_last then
              q.followed = q.followed or {}
              q.followed[#q.followed + 1] = m
            end
          else
            m.nonce, m.ends, m.receives, m.priority, m.worker = nonce, ends, m.receives + 1, member:sub(1, 1), worker
            taken, id, group = q.state_of(m), m.id, m.group
          end
        end
        if taken and (reply[1] == most or reply[1] > 0 and bytes + #content - 15 > 1048576) then
          is_full = true
          break
        elseif taken then
          if is_last then
            q.followed = q.followed or {}
            q.followed[#q.followed + 1] = { id = id }
          elseif acknowledges and id and id ~= '' then
            q.ids = q.ids or {}
            q.ids[#q.ids + 1] = id
          end
          bytes = bytes + #content - 15
          reply[1] = reply[1] + 1
          reply[reply[1] + 4] = { fields[k], content, taken, acknowledges and 0 or q.visible_until, i }
          local n = #states
          states[n + 1], states[n + 2] = fields[k + 1], taken
          flight[n + 1], flight[n + 2] = ends, group and fields[k + 1] .. group or fields[k + 1]
        end
        looked_at = looked_at + 1
        members[#members + 1] = member
      end
    end
    if #page < count then
      break
    end
    first = first + count
  end
  if reply[1] == 0 and not q.is_paused and not q.is_held and (looked_at >= 1000 or q.reached_bound) then
    reply[3] = 1
  end
end
if reply[1] > 0 then
  reply[3] = 0
end

for i = 0, queue_count - 1 do
--@include queue_use
  local q = queues[i]
  if (q.dropped or acknowledges and q.states[1]) and q.rules and not q.rules:find('^result_ms=') then
    local rules = cmsgpack.unpack(q.rules)
--@include queue_room
    read_room()
    q.serve_senders = serve_senders
  end
  if q.dropped then
    redis.call('HLEN', ids_key)
    redis.call('HINCRBY', queue_key, 'expired', digits(q.dropped))
    if q.dropped_ids[1] then
      redis.call('HDEL', ids_key, unpack(q.dropped_ids))
    end
  end
  if q.members[1] then
    redis.call('ZREM', ready_key, unpack(q.members))
  end
  if acknowledges and q.states[1] then
--@include queue_types queue_settings queue_done
    q.gone, q.ended = q.gone or {}, q.ended or {}
    for k = 1, #q.states, 2 do
      q.ended[#q.ended + 1] = q.states[k]:sub(1, 16)
      q.gone[#q.gone + 1] = q.ended[#q.ended]
      if (q.result_ms or 0) == 0 then
        q.gone[#q.gone + 1] = q.states[k]
      end
    end
    if q.ids then
      remember_ids(q.ids, q.result_ms or 0)
    end
    if (q.result_ms or 0) > 0 then
--@include queue_result
      local remembered_until = digits(now + math.max(150000, q.result_ms))
      for k = 1, #q.states, 2 do
        q.flight[k] = '-' .. remembered_until
        q.states[k + 1] = done_state(q.states[k + 1], remembered_until, '-', q.result_ms)
      end
      redis.call('ZADD', flight_key, unpack(q.flight))
      redis.call('HSET', queue_key, unpack(q.states))
    end
  elseif q.states[1] then
    redis.call('ZADD', flight_key, unpack(q.flight))
    redis.call('HSET', queue_key, unpack(q.states))
  end
  if q.gone then
    redis.call('HDEL', queue_key, unpack(q.gone))
  end
  if q.serve_senders then
    q.serve_senders()
  end
  if q.ended and q.result_ms then
--@include queue_result
    wake_waiters(q.ended)
  end
  if q.followed then
--@include queue_types queue_settings queue_message queue_change queue_plan
    for _, m in ipairs(q.followed) do
      follow(m)
    end
    commit(true)
    reply[3] = reply[1] == 0 and not q.is_paused and 1 or reply[3]
  end
  local waits_on = ticket ~= '' and wait_ms > 0 and reply[1] == 0 and reply[3] == 0
  if q.is_awaited or waits_on then
--@include waiters queue_serve
    local w = q.w or waiters_read(queue_key, waiters_key, now, ticket)
    waiters_settle(w)
    if waits_on then
      waiters_join(w, clock[1] * 1000000 + clock[2], ARGV[7] + 0)
    elseif ticket ~= '' and reply[3] == 0 then
      waiters_leave(w)
    end
    serve(w)
    if w.look_at and (reply[4] < 0 or w.look_at < reply[4]) then
      reply[4] = w.look_at
    end
  end
end
for i = 0, queue_count - 1 do -- behind the messages, as a row without a sequence
  if queues[i].policy and queues[i].states[1] then
    reply[#reply + 1] = { '', queues[i].policy[2], queues[i].policy[1], 0, i }
  end
end
return reply, not acknowledges, lasts_ms
