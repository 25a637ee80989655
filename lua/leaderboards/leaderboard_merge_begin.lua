-- leaderboard_merge_begin: the board that is to be made of others.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
--@reply 0, 1: leaderboard
--@reply -1 absent
-- 1: a replay, after leaderboard_merge_end answered the request.
-- Errors: WRONGTYPE, nothing done. O(1).
--@idempotent
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
return board_reply(0, now, board.text, redis.call('ZCARD', KEYS[3]), board.max)
