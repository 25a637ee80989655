-- leaderboard_patch: changes when a board expires.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 ttl_ms from now, 'null': it never expires, '': as before
--@reply 1: leaderboard
--@reply -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@include time expiry board
local now = now_ms()
local board = read_board(KEYS[1])
if not board then
  return {-1, now}
end
expire(KEYS, expiry_after(ARGV[1], now, expires_at(KEYS)))
return board_reply(1, now, board.text)
