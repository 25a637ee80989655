-- leaderboard_merge_page: some members of a source of a merge, which may be in another slot.
-- KEYS  1 the source, 2 its places (leaderboards/lib_board.lua)
-- ARGV  1 cursor of the source's HSCAN, '0' to begin, 2 the source's number, from 1, 3 the
--       dimensions
--@reply 0: next_cursor text, found [merge_found]
--@reply -1 no_source: source int
--@reply -2 differs: merge_differs
--@shape merge_found: places (merge_place)...
--@shape merge_place: member text, place text
-- next_cursor is '0' at the end. no_source, differs: the source, whose number is from 0, does not
-- exist any more, or has other dimensions now.
-- Errors: WRONGTYPE. O(MERGE_STEP), the COUNT of an HSCAN, which may return more.
--@reads
local cursor, number, dimensions = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local board = read_board(KEYS[1])
if not board then
  return { -1, now, number - 1 }
elseif board.text ~= dimensions then
  return { -2, now, number - 1, board.text, dimensions }
end
local step = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', format('%d', MERGE_STEP))
return { 0, now, step[1], step[2] }
