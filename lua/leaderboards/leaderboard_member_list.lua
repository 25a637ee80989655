-- leaderboard_member_list: a page of the members of a board, or of the members whose first score is
-- in a range.
-- KEYS  1 the board, 2 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 where the page begins in that list, from 0, 2 how many, at most 1000; unless all members
--       are listed with the highest scores first: 3 'desc' or 'asc', 4 the least first score and 5
--       the largest one, '': no bound
--@reply 0: board_page
--@reply -1 no_board
-- Errors: WRONGTYPE. O(log n + page).
--@reads
--@plain
-- The highest scores first, without bounds. One member more than asked for shows whether a page
-- follows.
local first, count, order = ARGV[1], ARGV[2] + 0, ARGV[3]
local text, from = not order and redis.call('HGET', KEYS[1], 'dimensions'), first + 0
if text then
  local elements = redis.call('ZRANGE', KEYS[2], first, format('%d', from + count))
  local follows = elements[count + 1] ~= nil
  elements[count + 1] = nil
  reply = { 0, now, text, follows and from + count or -1, from, elements }
end
--@operation
local from, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local order, least, most = ARGV[3] or 'desc', ARGV[4] or '', ARGV[5] or ''
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
local first, behind = range_of(KEYS[2], #board.names, least, most)
if order == 'asc' then
  local size = redis.call('ZCARD', KEYS[2])
  first, behind = size - behind, size - first
end
return page_at(now, KEYS[2], board, order, first, behind, from, count)
