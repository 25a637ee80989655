-- queue_message_list: a page of the messages of one state, in the order in which they are due,
-- become visible, or died.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 state: 'ready', 'blocked', 'delayed', 'in_flight' or 'dead', 2 limit (1..1000), 3 to 5
--       where the page before ended: priority, instant and sequence; -1, -1 and '' for the first
--       page, 6 '1': queue_settle was called
--@reply 0: last_priority int, last_at_ms int, last_sequence text, messages [queue_message]...
--@again -1 unsettled: settled int
--@first queue_settle
-- last_priority, last_at_ms and last_sequence are where this page ended; last_sequence is '' on the
-- last page.
-- Ready messages go through the priorities 0 to 9, one after the other. A place in the order is all
-- three values, so messages that come and go before it do not move the page. Of the messages that
-- became ready since the last receive the first 1000 are listed. Bodies have at most 1 MiB
-- together, unless the first alone is longer. A page may be short; it also ends after a
-- millisecond.
-- Errors: WRONGTYPE. O(limit * log(queue) + log(queue)^2).
--@reads
local state, limit, last_priority, last_at = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local last_sequence, settled = ARGV[5], ARGV[6]
check_types()
if settled ~= '1' and is_unsettled() then
  return { -1, now, 1 }
end
local VIRTUAL_MOST, PAGE_BYTES = '1000', 1048576
local places = {
  blocked = keys[ORDER], ready = keys[READY], delayed = keys[DELAYED], in_flight = keys[FLIGHT], dead = keys[DEAD],
}
local place = places[state]
local is_flight, is_ready = state == 'in_flight', state == 'ready'

-- The order in a place is by rank, then by name. A rank is the score that a message has there, or
-- will have.
local function rank_of(priority, at)
  return is_ready and priority * 1e13 + at or at
end
local function name_of(m)
  return is_flight and m.seq or m.priority .. m.seq
end
local function stands_before(a, b)
  if a.rank ~= b.rank then
    return a.rank < b.rank
  end
  return name_of(a) < name_of(b)
end

-- virtual: the messages that time has brought here, in order, though no receive has moved them yet.
-- The page has scores between `from` and `to`.
local virtual = {}
local from, to = '-inf', '+inf'
local function add_virtual(m)
  m.rank = rank_of(m.priority, m.at)
  virtual[#virtual + 1] = m
end
for _, m in ipairs(is_flight and {} or ended_deliveries(VIRTUAL_MOST)) do
  local is_dead = m.state == 'dead' and m.at > now - setting('dead_retention_ms')
  if is_dead and state == 'dead' or m.state == 'due' and state == (m.at <= now and 'ready' or 'delayed') then
    m.has_state = true
    add_virtual(m)
  end
end
if is_ready then
  local due =
    redis.call('ZRANGE', keys[DELAYED], '-inf', instant, 'BYSCORE', 'LIMIT', '0', VIRTUAL_MOST, 'WITHSCORES')
  for _, m in ipairs(messages_of(keys[DELAYED], due)) do
    add_virtual(m)
  end
elseif state == 'dead' then
  from = '(' .. format('%d', now - setting('dead_retention_ms'))
else
  from = '(' .. instant
end
table.sort(virtual, stands_before)

-- Where the page begins: the first rank in `place` behind the cursor, by a binary search, since
-- thousands may share one score; and the first virtual message.
local start, next_virtual = redis.call('ZCOUNT', place, '-inf', (from:gsub('^%(', ''))), 1
local is_blocked = state == 'blocked'
if is_ready or is_blocked then
  start = 0
end
local text = (last_sequence:gsub('%x%x', function(byte)
  return string.char(tonumber(byte, 16))
end))
if is_blocked and last_sequence ~= '' then -- this place is by group, and the cursor is a member
  start = redis.call('ZLEXCOUNT', keys[ORDER], '-', '[' .. text)
elseif last_sequence ~= '' then
  local rank = rank_of(tonumber(last_priority), tonumber(last_at))
  local after = { priority = last_priority, seq = last_sequence, rank = rank }
  local score = format('%d', after.rank)
  if is_ready then -- the score of a head has a fraction; the cursor has that score
    score, after.seq = text:match('^(%d+%.?%d*) (%d+)$')
    if not score then
      return { 0, now, -1, -1, '' }
    end
    after.rank = tonumber(score)
  end
  local name = name_of(after)
  local low = redis.call('ZCOUNT', place, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', place, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', place, format('%d', middle), format('%d', middle))[1]:sub(1, #name) <= name then
      low = middle + 1
    else
      high = middle
    end
  end
  start = math.max(start, low)
  while virtual[next_virtual] and not stands_before(after, virtual[next_virtual]) do
    next_virtual = next_virtual + 1
  end
end

-- next_messages(count): the next messages, at most `count` stored ones, merged with virtual ones;
-- and whether these are the last.
local function next_messages(count)
  local flat = redis.call('ZRANGE', place, format('%d', start), format('%d', start + count - 1), 'WITHSCORES')
  local page, list = messages_of(place, flat), {}
  for i, m in ipairs(page) do
    m.rank = tonumber(flat[2 * i])
    while virtual[next_virtual] and stands_before(virtual[next_virtual], m) do
      list[#list + 1] = virtual[next_virtual]
      next_virtual = next_virtual + 1
    end
    list[#list + 1] = m
  end
  start = start + #page
  if #page < count then
    for i = next_virtual, #virtual do
      list[#list + 1] = virtual[i]
    end
  end
  return list, #page < count
end

local reply = { 0, now, -1, -1, '' }
local count, bytes, last = 0, 0, nil

-- add_messages(list): adds as many as fit on the page. Returns true when the page is full.
local function add_messages(list)
  local next_read = 1
  for i, m in ipairs(list) do
    if count == limit then
      return true
    elseif i >= next_read then
      next_read = add_contents(list, i)
    end
    local is_shown = m.content and not (not is_flight and m.place ~= keys[DEAD] and is_expired(m))
    if is_shown then
      if count > 0 and bytes + #m.content > PAGE_BYTES then
        return true
      end
      bytes = bytes + #m.content
      reply[#reply + 1] = item_of(m, state)
    end
    count = count + 1
    last = m
  end
  return false
end

local is_all, is_full
repeat
  local list
  list, is_all = next_messages(math.min(100, limit - count))
  is_full = add_messages(list)
until is_all or is_full or count == limit or out_of_time()
if last and (is_full or not is_all) then
  reply[3], reply[4], reply[5] = tonumber(last.priority), last.at, last.seq
  if is_blocked or is_ready then
    local behind = is_blocked and last.member or format('%.17g %s', last.rank, last.seq)
    reply[5] = (behind:gsub('.', function(c)
      return format('%02x', c:byte())
    end))
  end
end
return reply
