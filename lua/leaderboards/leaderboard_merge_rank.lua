-- leaderboard_merge_rank: ranks some members of the merge that is being built aside.
-- KEYS  1 what is built (leaderboards/lib_board_merge.lua), 2 its ranks so far: sorted set as in
--       leaderboards/lib_board.lua, TTL
-- ARGV  1 the dimensions, 2 the number that a member must have: the number of the last source for
--       an intersection; '' for any, 3 cursor of HSCAN, '0' to begin, 4 how many must be ranked
--       before, 5 how many members must be built before
--@again -1 unfinished: next_cursor text, ranked int, members int
--@reply 0: built int
--@reply -3 lost
--@reply -4 too_large: member text, dimension text
-- ranked, members and built: how many are ranked, and how many are built, once members with another
-- number were removed. lost: other numbers of members were built or ranked before. too_large: the
-- score of this member in this dimension is too large; what was built is deleted.
-- Errors: WRONGTYPE, nothing done. O(STEP log n), where STEP is the COUNT of an HSCAN, which may
-- return more.
local dimensions, needed = ARGV[1], tonumber(ARGV[2])
local cursor, ranked, built = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local STEP, KEPT_MS = 50, 60000
if redis.call('HLEN', KEYS[1]) ~= built or redis.call('ZCARD', KEYS[2]) ~= ranked then
  return { -3, now }
end
local step = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', format('%d', STEP))
local found, names = step[2], names_of(dimensions)
local add, remove = {}, {}
for i = 1, #found, 2 do
  local place = checked_place(found[i + 1], #names)
  local number, too_large = string.byte(found[i + 1], #place + 1, #place + 2)
  if needed and number ~= needed then
    remove[#remove + 1] = found[i]
  elseif too_large then
    redis.call('UNLINK', KEYS[1], KEYS[2])
    return { -4, now, found[i], names[too_large] or '' }
  else
    add[#add + 1] = '0'
    add[#add + 1] = place .. found[i]
  end
end
if #add > 0 then
  redis.call('ZADD', KEYS[2], unpack(add))
end
if #remove > 0 then
  redis.call('HDEL', KEYS[1], unpack(remove))
end
redis.call('PEXPIRE', KEYS[1], format('%d', KEPT_MS))
redis.call('PEXPIRE', KEYS[2], format('%d', KEPT_MS))
built = redis.call('HLEN', KEYS[1])
if step[1] == '0' then
  return { 0, now, built }
end
return { -1, now, step[1], redis.call('ZCARD', KEYS[2]), built }
