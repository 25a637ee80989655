-- leaderboard_member_count: how many members have a first score in a range.
-- KEYS  1 the board, 2 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the least first score and 2 the largest one, '': no bound
--@reply 0: count int
--@reply -1 no_board
-- Errors: WRONGTYPE. O(log n).
--@reads
local least, most = ARGV[1], ARGV[2]
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
local first, behind = range_of(KEYS[2], #board.names, least, most)
return { 0, now, behind - first }
