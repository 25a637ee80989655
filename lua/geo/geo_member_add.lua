-- geo_member_add: adds members, or moves them to where they are now; all or none.
-- KEYS[1]  the set. KEYS[2..] cells, see geo/lib_geo_cells.lua; and the index of names
--          (lib/made.lua)
-- ARGV     for each of KEYS[2..] how many, and then these: longitude, latitude, member; in all at
--          most 1000 members (for a member that is named twice, the last place counts); then how
--          many cells
--@reply 1: added int, updated int
--@reply -3 resized: geo_resized
-- added counts members that are new, updated members that were there before, moved or not.
-- Errors: WRONGTYPE, or ERR for a place outside the ranges, nothing done. O(N log M).
--@idempotent
local cells, other, is_new = geo_cells(now)
if not cells then
  return other
end
local groups = geo_groups(3)
local seen, members = {}, 0
for _, group in ipairs(groups) do
  local args = group[2]
  redis.call('ZCARD', group[1])
  for i = 3, #args, 3 do
    if math.abs(tonumber(args[i - 2])) > 180 or math.abs(tonumber(args[i - 1])) > 85.05112878 then
      return redis.error_reply('ERR invalid longitude,latitude pair')
    end
    if not seen[args[i]] then
      seen[args[i]] = true
      members = members + 1
    end
  end
end
local added = 0
for _, group in ipairs(groups) do
  added = added + redis.call('GEOADD', group[1], unpack(group[2]))
end
geo_added(cells, added, is_new)
return { 1, now, added, members - added }
