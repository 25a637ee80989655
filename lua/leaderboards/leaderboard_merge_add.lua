-- leaderboard_merge_add: adds some members of a source to the merge that is being built aside.
-- KEYS  1 the source, 2 its places (leaderboards/lib_board.lua), 3 what is built
--       (leaderboards/lib_board_merge.lua)
-- ARGV  1 cursor of the source's HSCAN, '0' to begin, 2 the source's number, from 1, 3 its weight,
--       4 'sum', 'min' or 'max', 5 the dimensions, 6 how many members must be built before, 7
--       'union' or 'intersection'
--@reply 0: merge_step
--@reply -1 no_source, -2 differs: merge_differs
--@reply -3 lost
-- no_source, differs: the source does not exist any more, or has other dimensions now; what was
-- built is deleted. lost: another number of members was built before.
-- Errors: WRONGTYPE, nothing done. O(MERGE_STEP) in HSCAN's sense.
local cursor, dimensions, built, kind = ARGV[1], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local number, weight, aggregate = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local board = read_board(KEYS[1])
local is_fit = board and board.text == dimensions
if not is_fit then
  redis.call('UNLINK', KEYS[3])
  return { board and -2 or -1, now, number - 1, board and board.text or '', dimensions }
end
if redis.call('HLEN', KEYS[3]) ~= built then
  return { -3, now }
end
local step = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', format('%d', MERGE_STEP))
return merge_add(now, KEYS[3], step[1], step[2], board.names, number, weight, aggregate, kind == 'intersection')
