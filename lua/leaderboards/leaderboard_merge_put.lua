-- leaderboard_merge_put: adds the members that leaderboard_merge_page returned to the merge that is
-- being built aside.
-- KEYS  1 what is built (leaderboards/lib_board_merge.lua)
-- ARGV  1 cursor, which is only returned, 2 the source's number, from 1, 3 its weight, 4 'sum',
--       'min' or 'max', 5 the dimensions, 6 how many members must be built before, 7 'union' or
--       'intersection'; then some 50 members, each with its place
--@reply 0: merge_step
--@reply -3 lost
-- lost: another number of members was built before.
-- Errors: WRONGTYPE, nothing done. O(members).
local cursor, built = ARGV[1], tonumber(ARGV[6])
if redis.call('HLEN', KEYS[1]) ~= built then
  return { -3, now }
end
local found, names, is_intersection = { unpack(ARGV, 8) }, names_of(ARGV[5]), ARGV[7] == 'intersection'
return merge_add(now, KEYS[1], cursor, found, names, tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], is_intersection)
