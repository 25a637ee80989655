-- set_member_list: one page of a set's members, by SSCAN.
-- KEYS[1]  the set
-- ARGV[1]  cursor: '0' to begin, or as returned before
-- ARGV[2]  glob that members must match (service/call/match.h), '' for all
-- ARGV[3]  how many members the page takes, at most 1000
--@reply 0: next_cursor text, members text...
--@reply -1 no_cursor
-- next_cursor is '0' at the end.
-- Errors: WRONGTYPE. O(page): it reads at most 2000 members, for a millisecond.
--@reads
local cursor, glob, page = ARGV[1], ARGV[2], tonumber(ARGV[3])
local members, next_cursor = scan_page('SSCAN', KEYS[1], cursor, glob, page)
if not members then
  return { -1, now }
end
return { 0, now, next_cursor, unpack(members) }
