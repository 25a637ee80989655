-- leaderboard_union_page: some members of a source that lies in another slot than the union that is
-- being built of it.
-- KEYS  1 the source, 2 its places (leaderboards/lib_board.lua)
-- ARGV  1 cursor of the source's HSCAN, '0' to begin, 2 the source's number, from 1, 3 the
--       dimensions
-- Returns {0, now, next cursor ('0': that was all), {member, place, ...}}
--         {-1, now, source, from 0} it is there no more
--         {-2, now, source, its dimensions, those wanted} they differ now
-- Errors: WRONGTYPE. O(UNION_STEP) in HSCAN's sense.
--@include time board board_union
--@reads
local now, number = now_ms(), tonumber(ARGV[2])
local board = read_board(KEYS[1])
if not board then
  return {-1, now, number - 1}
elseif board.text ~= ARGV[3] then
  return {-2, now, number - 1, board.text, ARGV[3]}
end
local step = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', digits(UNION_STEP))
return {0, now, step[1], step[2]}
