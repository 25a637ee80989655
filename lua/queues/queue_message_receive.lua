-- queue_message_receive: hands out messages that are ready: of the first queue first, then by
-- priority, due time and arrival.
-- KEYS  those of one queue (queues/lib_queue.lua) or of several, in order of preference
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries
--       (16 hex digits), 4 '1': each is done at once, as by queue_delivery_acknowledge; its
--       visible_until_ms is then 0, and queue_delivery_return brings it back by the rest,
--       5 '1': return what is left
-- Returns {taken, now_ms, more, left, {sequence, content, state, visible_until_ms, queue (from 0)}
-- a message}. more is 1 when nothing was taken but the bound on work was reached: call again. left
-- is for each queue how many more are ready and when the next one will be (-1: none is known);
-- empty unless asked for. A paused queue hands out nothing.
-- A replay: those deliveries that are still current, with the visible_until_ms of now; with ARGV[4]
-- all, as then. Makes ready what came due (500 a queue; of more at once, the rest follows in the
-- next call, behind what is ready then), settles deliveries whose visibility ended (100), drops
-- messages past their ttl (1000), trims (queues/lib_queue_trim.lua). The bodies of one reply stay
-- within 1 MiB, unless the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(queues + taken * log(queue)), whatever waits behind.
-- Runs without memory too: a full Redis must be able to drain.
--@include time wake queue queue_message
--@flags allow-oom
--@idempotent
local QUEUE_KEYS, MOVED_MOST, ENDED_MOST, LOOKED_AT_MOST, BYTES_MOST, HEADER_BYTES = 7, '500', '100', 1000, 1048576, 15
local most, given_visibility_ms, nonce = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local acknowledges, returns_left = ARGV[4] == '1', ARGV[5] == '1'
local queue_count = #KEYS / QUEUE_KEYS

local left = {}
local reply = { 0, now, 0, left }
local bytes, looked_at, is_full, reached_bound = 0, 0, false, false

local function use_queue(i)
  local first = i * QUEUE_KEYS + 1
  queue_key, ready_key, delayed_key, flight_key, dead_key, ids_key, done_key = unpack(KEYS, first, first + QUEUE_KEYS - 1)
end

-- What is due sooner than all else, delayed and in flight.
local function next_ends()
  local delayed = redis.call('ZRANGE', delayed_key, '0', '0', 'WITHSCORES')[2]
  local back = redis.call('ZRANGE', flight_key, '0', '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
  return delayed and tonumber(delayed) or math.huge, back and tonumber(back) or math.huge
end

-- Reads what tells whether there is more to do than to take; by then no key is written.
local function look()
  local settings = redis.call('HMGET', queue_key, 'paused', 'visibility_ms', 'trim_at')
  local q = { is_paused = settings[1] == '1', visibility_ms = given_visibility_ms }
  if given_visibility_ms < 0 then
    q.visibility_ms = tonumber(settings[2] or 30000) or foreign('a hash that is not a queue')
  end
  q.due_at, q.back_at = next_ends()
  q.trims = (not settings[3] or settings[3] <= instant) and redis.call('EXISTS', flight_key, dead_key, done_key) > 0
  q.needs_upkeep = q.trims or q.due_at <= now or q.back_at <= now
  if q.needs_upkeep or acknowledges or queue_count > 1 then
    check_types()
  end
  return q
end

-- What time has changed. Few calls need it, so its parts are made only here.
local function upkeep(q)
--@include queue_settings queue_change queue_plan queue_ended queue_page queue_trim
  if q.trims then
    trim()
  end
  if q.back_at <= now then
    local ended = ended_deliveries(ENDED_MOST)
    for _, m in ipairs(ended) do
      settle(m, m.state)
    end
    commit()
    reached_bound = #ended == tonumber(ENDED_MOST)
  end
  if q.due_at <= now then
    -- A member that begins with a letter is no message: what it stands for would be made here.
    local due = redis.call('ZRANGE', delayed_key, '-inf', instant, 'BYSCORE', 'LIMIT', '0', MOVED_MOST, 'WITHSCORES')
    local moved, members = {}, {}
    for i = 1, #due, 2 do
      members[#members + 1] = due[i]
      moved[i], moved[i + 1] = due[i]:sub(1, 1) .. due[i + 1], due[i]
    end
    redis.call('ZADD', ready_key, unpack(moved))
    redis.call('ZREM', delayed_key, unpack(members))
    reached_bound = reached_bound or #members == tonumber(MOVED_MOST)
  end
end

-- Takes a message, or leaves it because the reply would grow too long, or drops it. False when no
-- more fit.
local function take(q, member, seq, content, state, i)
  looked_at = looked_at + 1
  local taken, id
  if not content then
    q.gone[#q.gone + 1] = seq
    q.gone[#q.gone + 1] = seq .. 's'
  elseif not state and content:byte(15) == 10 then -- the first delivery of a message without options
    taken = nonce .. q.ends .. member:sub(1, 1) .. (member:byte(18) and 'b1' or '-1')
  else
    local m = state and read_state(state) or read_header(content)
    m.nonce, m.ends, m.receives, m.priority = nonce, q.ends, m.receives + 1, member:sub(1, 1)
    if m.expires_at > 0 and m.expires_at <= now then
      q.dropped = q.dropped + 1
      q.gone[#q.gone + 1] = seq
      q.gone[#q.gone + 1] = seq .. 's'
      if m.id ~= '' then
        q.dropped_ids[#q.dropped_ids + 1] = m.id
      end
    else
      taken, id = state_of(m), m.id
    end
  end
  if taken then
    if reply[1] > 0 and bytes + #content - HEADER_BYTES > BYTES_MOST then
      is_full = true
      return false
    end
    bytes = bytes + #content - HEADER_BYTES
    reply[1] = reply[1] + 1
    reply[reply[1] + 4] = { seq, content, taken, q.visible_until, i }
    local n = #q.states
    q.states[n + 1], q.states[n + 2] = seq .. 's', taken
    q.flight[n + 1], q.flight[n + 2] = q.ends, q.states[n + 1]
    if id and id ~= '' then
      q.ids[#q.ids + 1] = id
    end
  end
  q.members[#q.members + 1] = member
  return true
end

-- Takes what there is of `members`. What is read at once is small, or one message.
local function take_page(q, members, i)
  local k = 1
  while members[k] and not is_full do
    local fields, first = {}, k
    repeat
      local seq = members[k]:sub(2, 17)
      fields[#fields + 1] = seq
      fields[#fields + 1] = seq .. 's'
      k = k + 1
    until not members[k] or members[k]:byte(18) or members[first]:byte(18)
    local stored = redis.call('HMGET', queue_key, unpack(fields))
    for j = first, k - 1 do
      local at = 2 * (j - first) + 1
      if not take(q, members[j], fields[at], stored[at], stored[at + 1], i) then
        return
      end
    end
  end
end

-- Reads what can be taken of a queue: the first of what is ready, page by page.
local function choose(q, i)
  q.members, q.flight, q.states, q.gone, q.ids, q.dropped_ids, q.dropped = {}, {}, {}, {}, {}, {}, 0
  q.visible_until = acknowledges and 0 or now + q.visibility_ms
  q.ends = digits(now + q.visibility_ms)
  local first = 0
  while not q.is_paused and reply[1] < most and looked_at < LOOKED_AT_MOST and not is_full do
    local count = first == 0 and most - reply[1] or 100
    local members = redis.call('ZRANGE', ready_key, digits(first), digits(first + count - 1))
    take_page(q, members, i)
    if #members < count then
      break
    end
    first = first + count
  end
end

local function apply_done(q)
--@include queue_settings queue_done
  for k = 1, #q.states, 2 do
    q.gone[#q.gone + 1] = q.states[k]:sub(1, 16)
    q.gone[#q.gone + 1] = q.states[k]
  end
  if q.ids[1] then
    remember_ids(q.ids)
  end
end

local function apply(q)
  if not q.members[1] then
    return
  end
  if q.dropped > 0 then
    redis.call('HLEN', ids_key)
    redis.call('HINCRBY', queue_key, 'expired', digits(q.dropped))
    if q.dropped_ids[1] then
      redis.call('HDEL', ids_key, unpack(q.dropped_ids))
    end
  end
  redis.call('ZREM', ready_key, unpack(q.members))
  if acknowledges then
    apply_done(q)
  elseif q.states[1] then
    redis.call('ZADD', flight_key, unpack(q.flight))
    redis.call('HSET', queue_key, unpack(q.states))
  end
  if q.gone[1] then
    redis.call('HDEL', queue_key, unpack(q.gone))
  end
end

local function add_left(q)
  if q.is_paused then
    left[#left + 1] = 0
    left[#left + 1] = -1
    return
  end
  if q.needs_upkeep then
    q.due_at, q.back_at = next_ends()
  end
  local next_at = math.min(q.due_at, q.back_at, not acknowledges and q.states[1] and q.visible_until or math.huge)
  left[#left + 1] = redis.call('ZCARD', ready_key)
  left[#left + 1] = next_at < math.huge and next_at or -1
end

if granted then
  local current = { granted[1], now, 0, left }
  for i = 5, #granted do
    local item = granted[i]
    use_queue(item[5])
    local state = redis.call('HGET', queue_key, item[1] .. 's')
    if state and state:sub(1, 16) == item[3]:sub(1, 16) and state:sub(17, 29) > instant and state:sub(30, 30) ~= 'd' then
      item[4] = tonumber(state:sub(17, 29))
      current[#current + 1] = item
    end
  end
  return current
end

local queues = {}
for i = 0, queue_count - 1 do
  if queue_count > 1 then
    use_queue(i)
  end
  queues[i] = look()
end
for i = 0, queue_count - 1 do
  if queue_count > 1 then
    use_queue(i)
  end
  if queues[i].needs_upkeep then
    upkeep(queues[i])
  end
  choose(queues[i], i)
  if reply[1] == 0 and not queues[i].is_paused and (looked_at >= LOOKED_AT_MOST or reached_bound) then
    reply[3] = 1
  end
end
for i = 0, queue_count - 1 do
  if queue_count > 1 then
    use_queue(i)
  end
  apply(queues[i])
  if returns_left then
    add_left(queues[i])
  end
end
if reply[1] > 0 then
  reply[3] = 0
end
return reply, not acknowledges
