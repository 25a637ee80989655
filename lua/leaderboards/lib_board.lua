-- A board ranks members by one score of 53 bits, or by two to four of 32 bits, exactly. A sorted
-- set's score is a double, which holds no arrival beside one, and no two of them. So all its scores
-- are 0, and Redis orders its members by their bytes. Needs lib/time.lua; board_reply also
-- lib/expiry.lua. KEYS, in this order:
--   p:board:{name}   hash: dimensions (their names, a line each), last (the latest arrival, us),
--                    max_members (how many are kept; absent: all)
--   ...:places       hash: member to place
--   ...:ranks        sorted set, every score 0: the place with the member behind it
-- All three expire together.
-- A place is a head, and then the arrival in 8 bytes. The head is the largest score minus each
-- score: 2^53-1 minus the only one, in 8 bytes, or 2^32-1 minus each of several, in 4 bytes each.
-- All are big-endian: the smallest bytes are the highest scores, and of equal ones the earliest
-- arrival. Arrivals are Redis's clock, and rise with every change.
local ARRIVAL = 8
local EXACT_MAX = 9007199254740991

-- form_of(dimensions): the largest score, the bytes of a head, and the format of a place.
local function form_of(dimensions)
  if dimensions == 1 then
    return EXACT_MAX, 8, '>I8I8'
  end
  return 4294967295, 4 * dimensions, '>' .. string.rep('I4', dimensions) .. 'I8'
end

local function not_a_board()
  error(redis.error_reply('WRONGTYPE the key holds a hash that is not a board'))
end

-- names_of(text): the names of dimensions that are a line each.
local function names_of(text)
  if not string.find(text, '\n', 1, true) then
    return {text}
  end
  local names = {}
  for name in string.gmatch(text, '[^\n]+') do
    names[#names + 1] = name
  end
  return names
end

-- read_board(key): {names, text (as stored), last, max (nil: no bound)}, or nil when there is none.
-- O(1).
local function read_board(key)
  local f = redis.call('HMGET', key, 'dimensions', 'last', 'max_members')
  if not f[1] then
    if redis.call('EXISTS', key) == 1 then
      not_a_board()
    end
    return nil
  end
  local last = tonumber(f[2] or '0')
  local max = f[3] and (tonumber(f[3]) or 0)
  if not (last and last >= 0 and last < EXACT_MAX) or max and not (max >= 1 and max < EXACT_MAX) then
    not_a_board()
  end
  local names = names_of(f[1])
  return {names = names, text = f[1], last = last, max = max or nil}
end

-- board_reply(outcome, now, text, size, max): the reply that describes the board of KEYS. The
-- dimensions are a line each; max_members is -1 for no bound, expires_at_ms for never. A script
-- that writes counts the size before: the ranks may be of a foreign type.
--@shape leaderboard: dimensions text, size int, max_members int, expires_at_ms int
local function board_reply(outcome, now, text, size, max)
  return {outcome, now, text, size, max or -1, expiry_reply(expires_at(KEYS))}
end

-- drop_last(places, ranks, dimensions, count): removes so many members from the end of the ranks,
-- at most DROP_STEP, and returns how many. O(count log n).
local DROP_STEP = 500
local function drop_last(places, ranks, dimensions, count)
  local _, head = form_of(dimensions)
  local dropped = redis.call('ZRANGE', ranks, digits(-math.min(count, DROP_STEP)), '-1')
  redis.call('ZREMRANGEBYRANK', ranks, digits(-#dropped), '-1')
  for i, element in ipairs(dropped) do
    dropped[i] = string.sub(element, head + ARRIVAL + 1)
  end
  redis.call('HDEL', places, unpack(dropped))
  return #dropped
end

-- bound(board, size, max): the board of KEYS, of that size, keeps its first `max` members from now
-- on, nil: all. Returns its size then. False: it has still more, of which DROP_STEP went: call
-- again. O(DROP_STEP log n).
local function bound(board, size, max)
  local excess = max and size - max or 0
  if excess > 0 then
    drop_last(KEYS[2], KEYS[3], #board.names, excess)
  end
  if excess > DROP_STEP then
    return false
  elseif max then
    redis.call('HSET', KEYS[1], 'max_members', digits(max))
  else
    redis.call('HDEL', KEYS[1], 'max_members')
  end
  return size - math.max(excess, 0)
end

-- A member in replies: the element is the member's of the ranks, the position from 0, the
-- dimensions a line each.
--@shape board_member: dimensions text, position int, element text

-- checked_place(place, dimensions): raises WRONGTYPE when these bytes are not a place: too few, or
-- numbers of more than 53 bits. What a merge built has a byte more.
local function checked_place(place, dimensions)
  local _, head = form_of(dimensions)
  local high, next_high = string.byte(place, head + 1, head + 2)
  local is_place = #place >= head + ARRIVAL and high == 0 and next_high < 32
  if is_place and dimensions == 1 then
    high, next_high = string.byte(place, 1, 2)
    is_place = high == 0 and next_high < 32
  end
  if not is_place then
    error(redis.error_reply('WRONGTYPE the hash holds what is not a place'))
  end
  return string.sub(place, 1, head + ARRIVAL)
end

-- read_place(key, member, dimensions): nil when it is not there. O(1).
local function read_place(key, member, dimensions)
  local stored = redis.call('HGET', key, member)
  return stored and checked_place(stored, dimensions) or nil
end

-- place_of(scores, arrival), and back: scores_of(place, dimensions) returns the scores and the
-- arrival.
local function place_of(scores, arrival)
  local most, _, format = form_of(#scores)
  local words = {}
  for i = 1, #scores do
    words[i] = most - scores[i]
  end
  words[#scores + 1] = arrival
  return struct.pack(format, unpack(words))
end
local function scores_of(place, dimensions)
  local most, _, format = form_of(dimensions)
  local words, scores = {struct.unpack(format, place)}, {}
  for i = 1, dimensions do
    scores[i] = most - words[i]
  end
  return scores, words[dimensions + 1]
end
