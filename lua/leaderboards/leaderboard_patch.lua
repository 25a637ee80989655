-- leaderboard_patch: changes when a board expires, and how many members it keeps.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 ttl_ms from now ('null': the board never expires; '': as before); 2 how many members it
--       keeps ('null': all; '': as before)
--@reply 1: leaderboard
--@again 2 dropping
--@reply -1 absent
-- dropping: the board had more members than it is to keep, and some were dropped.
-- Errors: WRONGTYPE, nothing done. O(DROP_STEP log n).
local ttl_ms, max_members = ARGV[1], ARGV[2]
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
local size = redis.call('ZCARD', KEYS[3]) -- fails here, and not half-way, if it is not a sorted set
local max, at = board.max, expiry_at(KEYS)
if max_members ~= '' then
  max = tonumber(max_members)
  redis.call('HLEN', KEYS[2])
  size = bound(board, size, max)
  if not size then
    return { 2, now }
  end
end
expire(KEYS, expiry_after(ttl_ms, now, at))
return board_reply(1, now, board.text, size, max)
