-- What a board is in Redis: its three keys, and the form of a place. This module must not know in
-- which order members are listed. A board ranks members by one score of 53 bits, or by two to four
-- of 32 bits, exactly. A sorted set's score is a double, which cannot hold an arrival beside a
-- score, or two scores. So all its scores are 0, and Redis orders its members by their bytes. KEYS,
-- in this order; all three expire together:
--   p:board:{name}   hash: dimensions (their names, a line each), last (the latest arrival, us),
--                    max_members (how many are kept; without it all)
--   ...:places       hash: member to place
--   ...:ranks        sorted set, every score 0: the place, followed by the member
-- A place is a head, and then the arrival in 8 bytes. The head is the largest score minus each
-- score: 2^53-1 minus the only one, in 8 bytes, or 2^32-1 minus each of several, in 4 bytes each.
-- All numbers are big-endian, so the smallest bytes are the highest scores, and among equal scores
-- the earliest arrival. Arrivals are Redis's clock, and rise with every change.
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

-- names_of(text): the names in a text with a line for each.
local function names_of(text)
  if not string.find(text, '\n', 1, true) then
    return { text }
  end
  local names = {}
  for name in string.gmatch(text, '[^\n]+') do
    names[#names + 1] = name
  end
  return names
end

-- read_board(key, f): {names, text (as stored), last, max (nil: no bound)}, nil without a board.
-- `f` is what HMGET returned, if the board was read before. O(1).
local function read_board(key, f)
  f = f or redis.call('HMGET', key, 'dimensions', 'last', 'max_members')
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
  return { names = names, text = f[1], last = last, max = max or nil }
end

-- board_reply(outcome, now, text, size, max): the reply that describes the board of KEYS.
-- dimensions has a line for each; max_members is -1 for no bound, expires_at_ms -1 for never. A
-- script that writes reads the size first: the ranks may have another type.
--@shape leaderboard: dimensions text, size int, max_members int, expires_at_ms int
local function board_reply(outcome, now, text, size, max)
  return { outcome, now, text, size, max or -1, expiry_reply(expiry_at(KEYS)) }
end

-- drop_last(places, ranks, dimensions, count): removes so many members from the end of the ranks,
-- at most DROP_STEP, and returns how many. O(count log n).
local DROP_STEP = 500
local function drop_last(places, ranks, dimensions, count)
  local _, head = form_of(dimensions)
  local dropped = redis.call('ZRANGE', ranks, format('%d', -math.min(count, DROP_STEP)), '-1')
  redis.call('ZREMRANGEBYRANK', ranks, format('%d', -#dropped), '-1')
  for i, element in ipairs(dropped) do
    dropped[i] = string.sub(element, head + ARRIVAL + 1)
  end
  redis.call('HDEL', places, unpack(dropped))
  return #dropped
end

-- bound(board, size, max): from now on the board of KEYS keeps only its first `max` members, or all
-- if `max` is nil. `size` is its present size. Returns its new size, or false if it has still more
-- after DROP_STEP were dropped: call again. O(DROP_STEP log n).
local function bound(board, size, max)
  local excess = max and size - max or 0
  if excess > 0 then
    drop_last(KEYS[2], KEYS[3], #board.names, excess)
  end
  if excess > DROP_STEP then
    return false
  elseif max then
    redis.call('HSET', KEYS[1], 'max_members', format('%d', max))
  else
    redis.call('HDEL', KEYS[1], 'max_members')
  end
  return size - math.max(excess, 0)
end

-- A member in replies: element is its element in the ranks, position is from 0, and dimensions has
-- a line for each.
--@shape board_member: dimensions text, position int, element text

-- checked_place(place, dimensions): the bytes of a place, without the bytes that a merge adds.
-- Raises WRONGTYPE when they are not a place: too few bytes, or numbers of more than 53 bits.
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

-- read_place(key, member, dimensions): the place of a member, nil without it. O(1).
local function read_place(key, member, dimensions)
  local stored = redis.call('HGET', key, member)
  return stored and checked_place(stored, dimensions) or nil
end

-- place_of(scores, arrival): the place. scores_of(place, dimensions) reverses it: it returns the
-- scores and the arrival.
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
  local words, scores = { struct.unpack(format, place) }, {}
  for i = 1, dimensions do
    scores[i] = most - words[i]
  end
  return scores, words[dimensions + 1]
end
