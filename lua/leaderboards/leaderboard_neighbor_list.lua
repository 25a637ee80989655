-- leaderboard_neighbor_list: a page with a member in its middle; near an end of the board the
-- member is nearer to that end of the page.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the member, 2 how many in all, 1 to 1000, 3 'desc' or 'asc'
--@reply 0: board_page
--@reply -1 no_board, -2 no_member
-- Errors: WRONGTYPE. O(log n + page).
--@reads
local member, count, order = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local board = read_board(KEYS[1])
local place = board and read_place(KEYS[2], member, #board.names)
if not place then
  return { board and -2 or -1, now }
end
local size = redis.call('ZCARD', KEYS[3])
local position = position_of(KEYS[3], place .. member, #board.names, order)
local from = math.max(math.min(position - math.floor((count - 1) / 2), size - count), 0)
return page_at(now, KEYS[3], board, order, 0, size, from, count)
