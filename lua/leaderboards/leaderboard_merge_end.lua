-- leaderboard_merge_end: replaces a board's members with the merge that was built aside.
-- KEYS  1 the board, 2 its places, 3 its ranks, 4 the places and 5 the ranks that were built
--       (leaderboards/lib_board.lua)
-- ARGV  1 the dimensions (a line each), 2 how many members were built
--@reply 1: leaderboard
--@again 0 dropping: members int
--@reply -2 differs: merge_differs
--@reply -3 lost
-- dropping: more were built than the board keeps, and some were dropped.
-- differs: the board has other dimensions, and members, by now. lost: another number of members was
-- built.
-- Errors: WRONGTYPE, nothing done. O(DROP_STEP log n); Redis frees the old members in the
-- background.
--@idempotent
local dimensions, size = ARGV[1], tonumber(ARGV[2])
local board_keys = { KEYS[1], KEYS[2], KEYS[3] }
local board = read_board(KEYS[1])
local old_size = redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[2]) -- fails here, and not halfway, if it is not a hash
if board and board.text ~= dimensions and old_size > 0 then
  return { -2, now, -1, board.text, dimensions }
end
if redis.call('HLEN', KEYS[4]) ~= size or redis.call('ZCARD', KEYS[5]) ~= size then
  return { -3, now }
end
local excess = board and board.max and size - board.max or 0
if excess > 0 then
  size = size - drop_last(KEYS[4], KEYS[5], #names_of(dimensions), excess)
end
if excess > DROP_STEP then
  for i = 4, 5 do
    redis.call('PEXPIRE', KEYS[i], '60000')
  end
  return { 0, now, size }
end
redis.call('UNLINK', KEYS[2], KEYS[3])
if size > 0 then
  redis.call('RENAME', KEYS[4], KEYS[2])
  redis.call('RENAME', KEYS[5], KEYS[3])
end
redis.call('HSET', KEYS[1], 'dimensions', dimensions, 'last', format('%d', math.max(board and board.last or 0, now_us)))
expire(board_keys, expiry_at(board_keys))
if not board then
  made = { KEYS[1] }
end
return board_reply(1, now, dimensions, size, board and board.max)
