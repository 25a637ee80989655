-- leaderboard_merge_put: adds the members that leaderboard_merge_page returned to the merge that is
-- being built aside.
-- KEYS  1 what is built (leaderboards/lib_board_merge.lua)
-- ARGV  1 the source's number, from 1, 2 its weight, 3 'sum', 'min' or 'max', 4 the dimensions, 5
--       how many members must be built before, 6 'union' or 'intersection'; then some 50 members,
--       each with its place
--@reply 0: members int
--@reply -3 lost
-- members is how many are built afterwards. lost: another number of members was built before.
-- Errors: WRONGTYPE, nothing done. O(members).
local number, weight, aggregate = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local dimensions, built, kind = ARGV[4], tonumber(ARGV[5]), ARGV[6]
if redis.call('HLEN', KEYS[1]) ~= built then
  return { -3, now }
end
local found, names = { unpack(ARGV, 7) }, names_of(dimensions)
return { 0, now, merge_add(KEYS[1], found, names, number, weight, aggregate, kind == 'intersection') }
