-- A board ranks members by one to four scores of 32 bits, exactly. A sorted set's score is a
-- double, which holds no two of them, so all its scores are 0 and Redis orders its members by their
-- bytes. Needs lib/time.lua; board_reply also lib/expiry.lua. KEYS, in this order:
--   p:board:{name}   hash: dimensions (their names, a line each), last (the latest arrival, us)
--   ...:places       hash: member to place
--   ...:ranks        sorted set, every score 0: the place with the member behind it
-- All three expire together.
-- A place is 2^32-1 minus each score, then the arrival in two words, all big-endian: the smallest
-- bytes are the highest scores, and of equal ones the earliest arrival. Arrivals are Redis's
-- clock, and rise with every change.
local SCORE_MAX = 4294967295
local WORD = 4
local ARRIVAL = 2 * WORD

-- read_board(key): {names, text (as stored), last}, or nil when there is none. O(1).
local function read_board(key)
  local f = redis.call('HMGET', key, 'dimensions', 'last')
  if not f[1] then
    if redis.call('EXISTS', key) == 1 then
      error(redis.error_reply('WRONGTYPE the key holds a hash that is not a board'))
    end
    return nil
  end
  local names = {f[1]}
  if string.find(f[1], '\n', 1, true) then
    names = {}
    for name in string.gmatch(f[1], '[^\n]+') do
      names[#names + 1] = name
    end
  end
  return {names = names, text = f[1], last = tonumber(f[2] or '0')}
end

-- board_reply(outcome, now, text): the reply that describes the board of KEYS. The dimensions are a
-- line each; expires_at_ms is -1 for never.
--@shape leaderboard: dimensions text, size int, expires_at_ms int
local function board_reply(outcome, now, text)
  return {outcome, now, text, redis.call('ZCARD', KEYS[3]), expiry_reply(expires_at(KEYS))}
end

-- A member in replies: the element is that of the ranks, the position from 0, the dimensions a line
-- each.
--@shape board_member: dimensions text, position int, element text

-- checked_place(place, dimensions): raises WRONGTYPE when these bytes are too few for a place. What
-- a merge built has a byte more.
local function checked_place(place, dimensions)
  if #place < WORD * dimensions + ARRIVAL then
    error(redis.error_reply('WRONGTYPE the hash holds what is not a place'))
  end
  return string.sub(place, 1, WORD * dimensions + ARRIVAL)
end

-- read_place(key, member, dimensions): nil when it is not there. O(1).
local function read_place(key, member, dimensions)
  local stored = redis.call('HGET', key, member)
  return stored and checked_place(stored, dimensions) or nil
end

-- place_of(scores, arrival), and back: scores_of(place, dimensions).
local function place_of(scores, arrival)
  local low = arrival % 4294967296
  local behind = struct.pack('>I4I4', (arrival - low) / 4294967296, low)
  for i = #scores, 1, -1 do
    behind = struct.pack('>I4', SCORE_MAX - scores[i]) .. behind
  end
  return behind
end
local function scores_of(place, dimensions)
  local scores = {}
  for i = 1, dimensions do
    scores[i] = SCORE_MAX - struct.unpack('>I4', place, WORD * i - WORD + 1)
  end
  return scores
end
