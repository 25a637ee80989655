-- geo_member_list: one page of a set's members, by ZSCAN.
-- KEYS[1]  the set. KEYS[2] one of its cells, when it is split: the page is of that one
-- ARGV[1]  cursor: '0' to begin, or as answered before
-- ARGV[2]  glob that members must match (service/call/match.h), '' for all
-- ARGV[3]  how many members the page takes, at most 1000
-- ARGV[4]  of a split set: how many cells
--@reply 0: next_cursor text, members (geo_member)...
--@reply -1 no_cursor
--@reply -3 again: geo_again
--@shape geo_member: member text, place (geo_place)
-- next_cursor is '0' when that was all.
-- Errors: WRONGTYPE. O(page log M), and at most 2000 members are looked at, for a millisecond.
--@include time out_of_time geo geo_cells scan_page
--@reads
local now = now_ms()
local cells, other = geo_cells(now)
if not cells then
  return other
end
local key = KEYS[2] or KEYS[1]
local members, next_cursor = scan_page('ZSCAN', key, ARGV[1], ARGV[2], tonumber(ARGV[3]))
if not members then
  return {-1, now}
end
local places = geo_places(key, members)
local reply = {0, now, next_cursor}
for i = 1, #members do
  reply[#reply + 1] = members[i]
  for j = 3 * i - 2, 3 * i do
    reply[#reply + 1] = places[j]
  end
end
return reply
