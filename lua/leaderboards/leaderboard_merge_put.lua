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
local cursor, number, weight, aggregate = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local dimensions, built, kind = ARGV[5], tonumber(ARGV[6]), ARGV[7]
if redis.call('HLEN', KEYS[1]) ~= built then
  return { -3, now }
end
local found, names = { unpack(ARGV, 8) }, names_of(dimensions)
return merge_add(now, KEYS[1], cursor, found, names, number, weight, aggregate, kind == 'intersection')
