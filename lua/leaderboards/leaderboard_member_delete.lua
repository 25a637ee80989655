-- leaderboard_member_delete: removes a member from a board.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the member
--@reply 1 removed, -1 no_board, -2 no_member
-- Errors: WRONGTYPE, nothing done. O(log n).
--@flags allow-oom
local member = ARGV[1]
local board = read_board(KEYS[1])
local place = board and read_place(KEYS[2], member, #board.names)
if not place then
  return { board and -2 or -1, now }
end
redis.call('ZREM', KEYS[3], place .. member)
redis.call('HDEL', KEYS[2], member)
return { 1, now }
