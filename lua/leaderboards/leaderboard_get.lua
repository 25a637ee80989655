-- leaderboard_get: a board's dimensions and size.
-- KEYS  1 the board, 2 its ranks (leaderboards/lib_board.lua)
-- Returns {0, now, dimensions (a line each), size}, {-1, now} there is no board
-- Errors: WRONGTYPE. O(1).
--@include time board
--@reads
local now = now_ms()
local board = read_board(KEYS[1])
if not board then
  return {-1, now}
end
return {0, now, board.text, redis.call('ZCARD', KEYS[2])}
