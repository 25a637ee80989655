-- leaderboard_merge_begin: whether boards can be merged: all sources exist, and have the same
-- dimensions.
-- KEYS  1 the board to be made, 2 its ranks, 3.. the sources (leaderboards/lib_board.lua)
--@reply 0: dimensions text
--@reply -1 no_source: source int
--@reply -2 differs: merge_differs
--@reply 1: leaderboard
-- 0: they can be merged, with these dimensions, a line each. 1: a replay, after
-- leaderboard_merge_end answered the request. A source's number is from 0; -1 is the board itself,
-- which has members.
-- Errors: WRONGTYPE, nothing done. O(sources), at most 100.
--@idempotent
local first
for i = 3, #KEYS do
  local source = read_board(KEYS[i])
  if not source then
    return { -1, now, i - 3 }
  end
  first = first or source
  if source.text ~= first.text then
    return { -2, now, i - 3, source.text, first.text }
  end
end
local board = read_board(KEYS[1])
if board and board.text ~= first.text and redis.call('ZCARD', KEYS[2]) > 0 then
  return { -2, now, -1, board.text, first.text }
end
return { 0, now, first.text }
