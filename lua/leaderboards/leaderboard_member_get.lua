-- leaderboard_member_get: a member's position and place.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the member, 2 'desc' or 'asc'
--@reply 0: board_member
--@reply -1 no_board, -2 no_member
-- Errors: WRONGTYPE. O(log n).
--@reads
local member, order = ARGV[1], ARGV[2]
local board = read_board(KEYS[1])
local place = board and read_place(KEYS[2], member, #board.names)
if not place then
  return { board and -2 or -1, now }
end
local element = place .. member
return { 0, now, board.text, position_of(KEYS[3], element, #board.names, order), element }
