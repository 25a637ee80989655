-- leaderboard_delete: deletes a board with all its members. Redis frees the memory in the
-- background.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
--@reply 1 removed, -1 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
if not read_board(KEYS[1]) then
  return { -1, now }
end
redis.call('UNLINK', unpack(KEYS))
return { 1, now }
