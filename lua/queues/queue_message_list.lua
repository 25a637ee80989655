-- queue_message_list: a page of the messages of one state, in the order in which they are due, come
-- back, or died.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 state: 'ready', 'delayed', 'in_flight' or 'dead', 2 limit (1..1000), 3 to 5 where the
--       page before ended: priority, score and sequence; -1, -1 and '' for the first page
-- Returns {0, now_ms, priority, score, sequence of where this page ended ('' when it was the last),
-- item (queues/lib_queue_item.lua) a message}. Ready and delayed go through the priorities 0 to 9,
-- one after the other. A place in the order is a score and a sequence, so that a page is not upset
-- by messages that come and go before it. Bodies stay within 1 MiB, unless the first alone is
-- longer. A page may be short; it also ends after a millisecond. Errors: WRONGTYPE. O(limit *
-- log(queue) + log(queue)^2).
--@include time out_of_time wake queue queue_ended queue_item
--@reads
local state, limit = ARGV[1], tonumber(ARGV[2])
local after = { priority = tonumber(ARGV[3]), at = tonumber(ARGV[4]), seq = ARGV[5] }
local bytes_most = 1048576
local queue = this_queue()
local ended = ended_deliveries(queue, 1000)
local instant = digits(now)

-- The first rank in `key` behind the place (at, seq): a binary search, since thousands may share
-- one score.
local function rank_behind(key, at, seq)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. digits(at))
  local high = redis.call('ZCOUNT', key, '-inf', digits(at))
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] <= seq then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local reply = { 0, now, -1, -1, '' }
local count, bytes, last, is_full = 0, 0, nil, false

-- Adds at most 100 of what is in `key` with a score within (from, to], behind the place `start` if
-- there is one. True when all was added.
local function add_some(key, priority, from, to, start)
  local rank = redis.call('ZCOUNT', key, '-inf', digits(from))
  if start then
    rank = math.max(rank, rank_behind(key, start.at, start.seq))
  end
  local most = math.min(100, limit - count)
  local flat = redis.call('ZRANGE', key, rank, rank + most - 1, 'WITHSCORES')
  local page = messages_of(key, flat)
  local is_last = #page < most
  local back = {}
  for _, m in ipairs(ended_bound_for(ended, key)) do
    if (not start or stands_before(start, m)) and (is_last or stands_before(m, page[#page])) then
      back[#back + 1] = m
    end
  end
  for _, m in ipairs(merged(page, back)) do
    if m.at > to then
      return true
    end
    if count == limit then
      is_full = true
      return false
    end
    local is_shown = m.at > from and not m.lost and not (m.place ~= flight_key and is_expired(m))
    local body = is_shown and redis.call('HGET', body_key, m.seq)
    if body then
      if count > 0 and bytes + #body > bytes_most then
        is_full = true
        return false
      end
      bytes = bytes + #body
      reply[#reply + 1] = item_of(m, key == dead_key and 'dead' or key == flight_key and 'in_flight' or 'due', body)
    end
    count = count + 1
    last = { priority, m.at, m.seq }
  end
  return is_last
end

-- The same, as many as the page has room and time for.
local function add_page(key, priority, from, to, start)
  while not add_some(key, priority, from, to, start) do
    if is_full or count == limit or out_of_time() then
      return false
    end
    start = { at = last[2], seq = last[3] }
  end
  return true
end

local is_all = true
if state == 'ready' or state == 'delayed' then
  local from, to = state == 'ready' and -1 or now, state == 'ready' and now or math.huge
  for priority = math.max(after.priority, 0), 9 do
    is_all = count < limit and add_page(due_key(priority), priority, from, to, priority == after.priority and after)
    if not is_all then
      break
    end
  end
else
  local is_flight = state == 'in_flight'
  local from = is_flight and now or now - setting(queue, 'retention_ms')
  is_all = add_page(is_flight and flight_key or dead_key, 0, from, math.huge, after.priority >= 0 and after)
end
if not is_all then
  reply[3], reply[4], reply[5] = last[1], last[2], last[3]
end
return reply
