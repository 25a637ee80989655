-- leaderboard_put: makes a board; one with other dimensions gets these while it has no members.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 the dimensions' names, a line each
-- Returns {2, now, size} made, {1, now, size} it was there, {-1, now, its dimensions} it has
-- others, and members
-- Errors: WRONGTYPE, nothing done. O(1). What a board left whose first key alone was deleted goes
-- too, freed in the background.
--@include time board
local now = now_ms()
local board = read_board(KEYS[1])
local size = redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[2]) -- fails here, and not half-way, when it is no hash
if not board then
  redis.call('UNLINK', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'dimensions', ARGV[1])
  return {2, now, 0}
end
if board.text ~= ARGV[1] then
  if size > 0 then
    return {-1, now, board.text}
  end
  redis.call('HSET', KEYS[1], 'dimensions', ARGV[1])
end
return {1, now, size}
