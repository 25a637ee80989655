-- leaderboard_put: creates a board, or replaces its settings. The dimensions of a board with
-- members cannot change.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the dimensions' names, a line each, 2 ttl_ms from now, 'null' or '': the board never
--       expires, 3 how many members it keeps, 'null' or '': all
--@reply 2 created, 1 known: leaderboard
--@again 3 dropping
--@reply -1 differs: dimensions text
-- dropping: the board had more members than it is to keep, and some were dropped.
-- differs: it has these dimensions, and members.
-- Errors: WRONGTYPE, nothing done. O(DROP_STEP log n). Keys that an old board left, when only its
-- first key was deleted, are removed; Redis frees their memory in the background.
local dimensions, ttl, max = ARGV[1], ARGV[2], tonumber(ARGV[3])
local board = read_board(KEYS[1])
local size = redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[2]) -- fails here, and not halfway, if it is not a hash
if board and board.text ~= dimensions and size > 0 then
  return { -1, now, board.text }
elseif not board then
  redis.call('UNLINK', KEYS[2], KEYS[3])
  size = 0
else
  size = bound(board, size, max)
  if not size then
    return { 3, now }
  end
end
redis.call('HSET', KEYS[1], 'dimensions', dimensions)
if max and not board then
  redis.call('HSET', KEYS[1], 'max_members', format('%d', max))
end
expire(KEYS, expiry_after(ttl, now, false))
if not board then
  made = { KEYS[1] }
end
return board_reply(board and 1 or 2, now, dimensions, size, max)
