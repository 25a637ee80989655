-- leaderboard_get: a board's settings and size.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
--@reply 0: leaderboard
--@reply -1 absent
-- Errors: WRONGTYPE. O(1).
--@reads
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
return board_reply(0, now, board.text, redis.call('ZCARD', KEYS[3]), board.max)
