-- queue_message_receive: hands out messages that are ready: of the first queue first, then by
-- priority, due time and arrival.
-- KEYS  those of one queue (queues/lib_queue.lua) or of several, in order of preference
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries
--       (16 hex digits), 4 '1': each is done at once, as by queue_delivery_acknowledge; its receipt
--       is then its sequence, a tab and its record, to bring it back by (queue_delivery_return),
--       and its visible_until_ms 0,
--       5 '1': tell what is left
-- Returns {taken, now_ms, more, left, {id, receipt, body, priority, receives, sent_at_ms,
-- visible_until_ms, queue (from 0)} a message}. more is 1 when nothing was taken but the bound on
-- work was reached: call again. left is for each queue how many more are ready and when the next
-- one will be (-1: none is known); empty unless asked for. A paused queue hands out nothing.
-- A replay: those deliveries that are still current, with the visible_until_ms of now; with ARGV[4]
-- all, as then. Settles deliveries whose visibility ended (100 a queue), drops messages past their
-- ttl (1000), trims (queues/lib_queue_trim.lua). The bodies of one reply stay within 1 MiB, unless
-- the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(queues + taken * log(queue)), whatever waits behind.
-- Runs without memory too: a full Redis must be able to drain.
--@include time wake queue queue_delivery queue_done queue_ended queue_trim
--@flags allow-oom
--@idempotent
local most = tonumber(ARGV[1])
local given_visibility_ms = tonumber(ARGV[2])
local nonce = ARGV[3]
local acknowledges, tells_left = ARGV[4] == '1', ARGV[5] == '1'
local ended_most, looked_at_most, bytes_most = 100, 1000, 1048576
local queue_count = #KEYS / QUEUE_KEYS

local left = {}
local reply = { 0, now, 0, left }
local bytes, looked_at, is_full = 0, 0, false

-- Takes m, or leaves it because the reply would grow too long, or drops it.
local function take(queue, m)
  looked_at = looked_at + 1
  local body = not m.lost and not is_expired(m) and read('HGET', body_key, m.seq)
  if not body then
    m.state = 'dropped'
    drop(queue, m)
    return
  end
  if reply[1] > 0 and bytes + #body > bytes_most then
    is_full = true
    return
  end
  bytes = bytes + #body
  m.state = 'taken'
  m.receives = m.receives + 1
  local receipt
  if acknowledges then
    m.at = 0
    receipt = m.seq .. '\t' .. record_of(m)
    finish(queue, m)
  else
    receipt = m.seq .. '.' .. nonce
    m.nonce = nonce
    m.at = now + (given_visibility_ms < 0 and setting(queue, 'visibility_ms') or given_visibility_ms)
    move(m, flight_key)
  end
  reply[1] = reply[1] + 1
  reply[#reply + 1] =
    { id_of(m), receipt, body, m.priority, m.receives, m.sent_at, m.at, first_key / QUEUE_KEYS }
end

local function wants_more()
  return reply[1] < most and not is_full and looked_at < looked_at_most
end

-- Takes what is ready in one priority: page by page, merged with what comes back from flight.
local function take_from(queue, ended, key)
  local back = ended_bound_for(ended, key)
  if #back == 0 and read('ZCARD', key) == 0 then
    return
  end
  local offset, page_most = 0, most - reply[1]
  repeat
    local flat = read('ZRANGE', key, '-inf', digits(now), 'BYSCORE', 'LIMIT', offset, page_most, 'WITHSCORES')
    local page = messages_of(key, flat)
    local is_last = #page < page_most
    offset = offset + #page
    local due_back = {}
    while back[1] and back[1].at <= now and (is_last or stands_before(back[1], page[#page])) do
      due_back[#due_back + 1] = table.remove(back, 1)
    end
    for _, m in ipairs(merged(page, due_back)) do
      if not wants_more() then
        return
      end
      take(queue, m)
    end
    page_most = 100
  until is_last or not wants_more()
end

-- The same for a row of priorities: few queues use many, and one question tells that none of the
-- row has anything.
local function take_from_row(queue, ended, first, last)
  if not wants_more() or
    (#ended == 0 and redis.call('EXISTS', unpack(KEYS, first_key + 2 + first, first_key + 2 + last)) == 0) then
    return
  end
  for priority = first, last do
    if wants_more() then
      take_from(queue, ended, due_key(priority))
    end
  end
end

local function take_from_queue()
  local queue = this_queue()
  trim(queue)
  local ended = ended_deliveries(queue, ended_most)
  if not queue.paused then
    take_from_row(queue, ended, 0, 3)
    take_from_row(queue, ended, 4, 4) -- that of messages sent without one
    take_from_row(queue, ended, 5, 9)
  end
  for _, m in ipairs(ended) do
    if m.state ~= 'taken' and m.state ~= 'dropped' then
      settle(queue, m, m.state)
    end
  end
  if reply[1] == 0 and not queue.paused and (looked_at >= looked_at_most or #ended == ended_most) then
    reply[3] = 1
  end
  count_expired(queue)
  if tells_left then -- every key was read, then, and what is left can be counted after the commit
    for priority = 0, 9 do
      read('ZCARD', due_key(priority))
    end
  end
  return queue
end

local function still_current()
  local current = { granted[1], now, 0, left }
  for i = 5, #granted do
    local item = granted[i]
    use_queue(item[8])
    local m = current_delivery(string.match(item[2], '^(%d+)%.(%x+)$'))
    if m then
      item[7] = m.at
      current[#current + 1] = item
    end
  end
  return current
end
if granted then
  return still_current()
end

local queues = {}
for i = 0, queue_count - 1 do
  use_queue(i)
  queues[i] = take_from_queue()
end
commit()

for i = 0, tells_left and queue_count - 1 or -1 do
  use_queue(i)
  local ready, next_at = 0, math.huge
  local function may_be_next(flat)
    next_at = math.min(next_at, tonumber(flat[2] or math.huge))
  end
  if not queues[i].paused then
    for priority = 0, 9 do
      local key = due_key(priority)
      if redis.call('ZCARD', key) > 0 then
        ready = ready + redis.call('ZCOUNT', key, '-inf', digits(now))
        may_be_next(redis.call('ZRANGE', key, '(' .. digits(now), '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES'))
      end
    end
    may_be_next(redis.call('ZRANGE', flight_key, '0', '0', 'WITHSCORES'))
  end
  left[#left + 1] = ready
  left[#left + 1] = next_at < math.huge and next_at or -1
end
return reply, not acknowledges
