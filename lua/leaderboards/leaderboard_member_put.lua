-- leaderboard_member_put: sets a member's scores, or adds to them. A board that does not exist is
-- made if one dimension is given; only PUT orders several.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua); and the index of names
--       (lib/made.lua)
-- ARGV  1 the member, 2 'set' or 'add', then names of dimensions, each with a number; the number
--       for a dimension that is not named is 0
--@reply 0 not_kept, 1 known, 2 new: board_member
--@reply -1 no_board
--@reply -2 out_of_range: dimension text, score int, change int, most int
--@reply -3 unknown: dimensions text, names text...
-- no_board: there is no board, and several dimensions are given. out_of_range: `score` (0 for
-- 'set') and `change` have a sum outside of 0 to `most`. unknown: the board has the dimensions, a
-- line each, and none of the names. not_kept: the board keeps a limited number of members, and all
-- of them are ahead of this new one; its position is -1. A new member may push out the last one.
-- Scores that do not change keep their arrival, and so the member its place among equals.
-- Errors: WRONGTYPE, nothing done. O(log n).
--@idempotent
--@plain
-- The only dimension of a board without a bound that has the member.
local member, change, dimension, number = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if #ARGV == 4 then
  known = redis.call('HMGET', KEYS[1], 'dimensions', 'last', 'max_members')
  local text, last, max = unpack(known)
  local old = text == dimension and last and not max and redis.call('HGET', KEYS[2], member)
  if old and #old == 2 * ARRIVAL and redis.call('ZSCORE', KEYS[3], old .. member) then
    local rest = struct.unpack('>I8', old)
    local score = number + (change == 'add' and EXACT_MAX - rest or 0)
    if score >= 0 and score <= EXACT_MAX and rest <= EXACT_MAX then
      local element = old .. member
      if score ~= EXACT_MAX - rest then
        local arrival = math.max(last + 1, now_us)
        local place = struct.pack('>I8I8', EXACT_MAX - score, arrival)
        redis.call('ZADD', KEYS[3], '0', place .. member)
        redis.call('ZREM', KEYS[3], element)
        redis.call('HSET', KEYS[2], member, place)
        redis.call('HSET', KEYS[1], 'last', format('%d', arrival))
        element = place .. member
      end
      reply = { 1, now, text, redis.call('ZRANK', KEYS[3], element), element }
    end
  end
end
--@operation
local member, adds, dimension = ARGV[1], ARGV[2] == 'add', ARGV[3]
local board = read_board(KEYS[1], known)
local is_new = not board
if is_new and #ARGV > 4 then
  return { -1, now }
end
board = board or { names = { dimension }, text = dimension, last = 0 }
local old = not is_new and read_place(KEYS[2], member, #board.names)

local given = {}
for i = 3, #ARGV, 2 do
  given[ARGV[i]] = tonumber(ARGV[i + 1])
end
local before = old and scores_of(old, #board.names)
local scores, changes, is_same = {}, {}, old and true
for i, name in ipairs(board.names) do
  changes[i] = given[name] or 0
  scores[i] = changes[i] + (adds and before and before[i] or 0)
  is_same = is_same and scores[i] == before[i]
  given[name] = nil
end
if next(given) then
  local reply = { -3, now, board.text }
  for name in pairs(given) do
    reply[#reply + 1] = name
  end
  return reply
end
local most = form_of(#scores)
for i, score in ipairs(scores) do
  if score < 0 or score > most then
    return { -2, now, board.names[i], adds and before and before[i] or 0, changes[i], most }
  end
end

local place, arrival = old, math.max(board.last + 1, now_us)
if not is_same then
  place = place_of(scores, arrival)
end
local element = place .. member
if board.max and not old and redis.call('ZCARD', KEYS[3]) >= board.max
    and redis.call('ZLEXCOUNT', KEYS[3], '(' .. element, '+') == 0 then
  return { 0, now, board.text, -1, element }
end

if is_new then
  -- These keys are left over if only the first key of an earlier board was deleted. A key of
  -- another type fails here.
  redis.call('ZCARD', KEYS[3])
  redis.call('HLEN', KEYS[2])
  redis.call('UNLINK', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'dimensions', board.text)
  made = { KEYS[1] }
end
if not is_same then
  -- The ranks come first: if they are not a sorted set, it fails here, and not halfway. The old
  -- place is removed after the new one was added: a set without members would be a new key, without
  -- its TTL.
  redis.call('ZADD', KEYS[3], '0', element)
  local had_ranks = old and redis.call('ZREM', KEYS[3], old .. member) == 1
  redis.call('HSET', KEYS[2], member, place)
  redis.call('HSET', KEYS[1], 'last', format('%d', arrival))
  local size = had_ranks and 0 or redis.call('ZCARD', KEYS[3])
  if size == 1 then -- the ranks, and maybe the places, are new keys
    expire(KEYS, expiry_at(KEYS))
  elseif board.max and size > board.max then
    drop_last(KEYS[2], KEYS[3], #scores, size - board.max)
  end
end
return { old and 1 or 2, now, board.text, redis.call('ZRANK', KEYS[3], element) or -1, element }
