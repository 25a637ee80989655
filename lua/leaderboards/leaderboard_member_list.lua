-- leaderboard_member_list: a page of the members of a board, or of the members whose first score is
-- in a range.
-- KEYS  1 the board, 2 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 where the page begins in that list, from 0, 2 how many, at most 1000, 3 'desc' or 'asc',
--       4 the least first score and 5 the largest one, '': no bound
--@reply 0: board_page
--@reply -1 no_board
-- Errors: WRONGTYPE. O(log n + page).
--@reads
local board = read_board(KEYS[1])
if not board then
  return {-1, now}
end
local first, behind = range_of(KEYS[2], #board.names, ARGV[4], ARGV[5])
if ARGV[3] == 'asc' then
  local size = redis.call('ZCARD', KEYS[2])
  first, behind = size - behind, size - first
end
return page_at(now, KEYS[2], board, ARGV[3], first, behind, tonumber(ARGV[1]), tonumber(ARGV[2]))
