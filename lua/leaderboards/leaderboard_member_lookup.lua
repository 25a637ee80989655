-- leaderboard_member_lookup: the positions and places of members.
-- KEYS  1 the board, 2 its places, 3 its ranks (leaderboards/lib_board.lua)
-- ARGV  1 'desc' or 'asc', then members, at most 250
--@reply 0: dimensions text, members (board_found)...
--@reply -1 no_board
--@shape board_found: position int, element text
-- dimensions has a line for each. There is an item for each member, in the order asked; an absent
-- member has the position -1 and the element ''.
-- Errors: WRONGTYPE. O(members log n).
--@reads
local order = ARGV[1]
local board = read_board(KEYS[1])
if not board then
  return { -1, now }
end
local reply = { 0, now, board.text }
for i, place in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, 2))) do
  local element = place and checked_place(place, #board.names) .. ARGV[i + 1]
  reply[#reply + 1] = element and position_of(KEYS[3], element, #board.names, order) or -1
  reply[#reply + 1] = element or ''
end
return reply
