-- leaderboard_member_list: the members at some positions of a board.
-- KEYS  1 the board, 2 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the first position, from 0, 2 how many, at most 1000, 3 'desc' or 'asc'
--@reply 0: board_page
--@reply -1 no_board
-- Errors: WRONGTYPE. O(log n + page).
--@include time board board_order
--@reads
local now = now_ms()
local board = read_board(KEYS[1])
if not board then
  return {-1, now}
end
local from, count = tonumber(ARGV[1]), tonumber(ARGV[2])
return page_at(now, KEYS[2], board, from, from + count - 1, ARGV[3])
