-- leaderboard_member_write: sets the scores of some members and removes others. A board that does
-- not exist is made if one dimension is given; only PUT orders several.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua); and the index of names
--       (lib/made.lua)
-- ARGV  1 how many dimensions the whole request names, then their names, the largest score of the
--       whole request, how many members to remove, then these; then for each member to put the
--       member and a score for each of the named dimensions. At most 250 members; a member is put
--       once, and none is also removed
--@reply 1: added int, updated int, removed int, dropped int, size int
--@reply -1 no_board
--@reply -2 too_large: most int
--@reply -3 unknown: dimensions text
-- added and updated: members that were not on the board, and members that were, changed or not.
-- dropped: members that the board does not keep any more, new ones among them. no_board: there is
-- no board, and more or less than one dimension is named. too_large: a score is above `most`.
-- unknown: the board has the dimensions, a line each, and not all that are named.
-- If its scores do not change, a member keeps its arrival, and so its rank among equals.
-- Errors: WRONGTYPE, nothing done. O(members log n).
--@idempotent parts
local named, dimension = tonumber(ARGV[1]), ARGV[2]
local largest, removals = tonumber(ARGV[named + 2]), tonumber(ARGV[named + 3])
local first_put = named + 4 + removals
local board = read_board(KEYS[1])
local is_new = not board
if is_new and named ~= 1 then
  return { -1, now }
end
board = board or { names = { dimension }, text = dimension, last = 0 }

-- For each dimension of the board: how far behind the member its score is in ARGV; nil: the score
-- is 0.
local score_at, known = {}, 0
for d, name in ipairs(board.names) do
  for i = 1, named do
    if ARGV[1 + i] == name then
      score_at[d], known = i, known + 1
    end
  end
end
if known < named then
  return { -3, now, board.text }
end
local dimensions, most = #board.names, form_of(#board.names)
if largest > most then
  return { -2, now, most }
end

local members, leave = {}, { unpack(ARGV, named + 4, first_put - 1) }
for i = first_put, #ARGV, named + 1 do
  members[#members + 1] = ARGV[i]
end
local size = redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[2]) -- fails here, and not halfway, if it is not a hash
if is_new and #members == 0 then
  return { 1, now, 0, 0, 0, 0, 0 }
end
local places = not is_new and #members > 0 and redis.call('HMGET', KEYS[2], unpack(members)) or {}
local places_left = not is_new and #leave > 0 and redis.call('HMGET', KEYS[2], unpack(leave)) or {}
local add, set, remove, updated, delete = {}, {}, {}, 0, {}
for i, place in ipairs(places_left) do
  if place then
    remove[#remove + 1] = checked_place(place, dimensions) .. leave[i]
    delete[#delete + 1] = leave[i]
  end
end
local arrival = math.max(board.last, now_us - 1)
for i, member in ipairs(members) do
  local old = places[i] and checked_place(places[i], dimensions)
  local before, scores, is_same = old and scores_of(old, dimensions), {}, old and true
  for d = 1, dimensions do
    scores[d] = score_at[d] and tonumber(ARGV[first_put + (i - 1) * (named + 1) + score_at[d]]) or 0
    is_same = is_same and scores[d] == before[d]
  end
  updated = updated + (old and 1 or 0)
  if not is_same then
    arrival = arrival + 1
    local place = place_of(scores, arrival)
    add[#add + 1] = '0'
    add[#add + 1] = place .. member
    set[#set + 1] = member
    set[#set + 1] = place
    if old then
      remove[#remove + 1] = old .. member
    end
  end
end

if is_new then
  -- An old board whose first key alone was deleted left these.
  redis.call('UNLINK', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'dimensions', board.text)
  made = { KEYS[1] }
end
-- Members are added before others are removed: a key without members would lose its TTL.
if #add > 0 then
  redis.call('ZADD', KEYS[3], unpack(add))
  redis.call('HSET', KEYS[2], unpack(set))
  redis.call('HSET', KEYS[1], 'last', format('%d', arrival))
end
if #remove > 0 then
  redis.call('ZREM', KEYS[3], unpack(remove))
end
local removed = 0
if #delete > 0 then
  removed = redis.call('HDEL', KEYS[2], unpack(delete))
end
if size == 0 and #add > 0 then -- the ranks, and maybe the places, are new keys
  expire(KEYS, expiry_at(KEYS))
end
size = redis.call('ZCARD', KEYS[3])
local dropped = 0
if board.max and size > board.max then
  dropped = drop_last(KEYS[2], KEYS[3], dimensions, size - board.max)
end
return { 1, now, #members - updated, updated, removed, dropped, size - dropped }
