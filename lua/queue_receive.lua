-- queue_receive: hands out messages that are ready, by priority, then due time, then arrival.
-- KEYS  the queue's (lib/queue.lua)
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries (16 hex digits),
--       4 '1': each is done at once, as by queue_acknowledge; its receipt is then '' and its visible_until_ms 0
-- Returns {taken, now_ms, more, {id, receipt, body, priority, receives, sent_at_ms, visible_until_ms} a message}. more
-- is 1 when nothing was taken but the bound on work was reached: call again. A paused queue hands out nothing.
-- Settles deliveries whose visibility ended (100 a call), drops messages past their ttl (1000), trims
-- (lib/queue_trim.lua). The bodies of one reply stay within 1 MiB, unless the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(taken * log(queue)), whatever waits behind.
-- Runs without memory too: a full Redis must be able to drain.
--@include time queue queue_done queue_ended queue_trim
--@flags allow-oom
--@idempotent
local most = tonumber(ARGV[1])
local visibility_ms = tonumber(ARGV[2])
local nonce = ARGV[3]
local acknowledges = ARGV[4] == '1'
local ended_most, looked_at_most, bytes_most = 100, 1000, 1048576

local queue = read_queue()
if visibility_ms < 0 then
  visibility_ms = queue.visibility_ms
end
trim(queue)
local ended = ended_deliveries(queue, ended_most)
local reply = { 0, now, 0 }
local bytes, looked_at, is_full = 0, 0, false

-- Takes m, or leaves it because the reply would grow too long, or drops it.
local function take(m)
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
  local receipt = ''
  if acknowledges then
    m.at = 0
    finish(queue, m)
  else
    receipt = m.seq .. '.' .. nonce
    m.nonce = nonce
    m.at = now + visibility_ms
    move(m, flight_key)
  end
  reply[1] = reply[1] + 1
  reply[#reply + 1] = { id_of(m), receipt, body, m.priority, m.receives, m.sent_at, m.at }
end

local function wants_more()
  return reply[1] < most and not is_full and looked_at < looked_at_most
end

-- Takes what is ready in one priority: page by page, merged with what comes back from flight.
local function take_from(key)
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
      take(m)
    end
    page_most = 100
  until is_last or not wants_more()
end

if not queue.paused then
  for priority = 0, 9 do
    if wants_more() then
      take_from(due_key(priority))
    end
  end
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
commit()
return reply
