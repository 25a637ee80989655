-- geo_member_list: one page of a set's members, by ZSCAN, from one cell after the other.
-- KEYS[1]  the set. KEYS[2..] its cells, from the cell on in which the page begins
-- ARGV[1]  cursor: '0' to begin, or as returned before
-- ARGV[2]  glob that members must match (service/call/match.h), '' for all
-- ARGV[3]  how many members the page takes, at most 1000
-- ARGV[4]  how many cells
--@reply 0: ended int, next_cursor text, members (geo_member)...
--@reply -1 no_cursor
--@reply -3 resized: geo_resized
--@shape geo_member: member text, place (geo_place)
-- ended is how many of KEYS[2..] were walked to their end. next_cursor is for the cell after them,
-- '0' at its start.
-- Errors: WRONGTYPE. O(page log M): it reads at most 2000 members of a cell, for a millisecond.
--@reads
local cursor, glob, page = ARGV[1], ARGV[2], tonumber(ARGV[3])
local cells, other = geo_cells(now)
if not cells then
  return other
end
local reply, n, ended = { 0, now, 0, '0' }, 0, 0
for cell = 2, #KEYS do
  local members, next_cursor = scan_page('ZSCAN', KEYS[cell], cursor, glob, page - n)
  if not members then
    return { -1, now }
  end
  local places = geo_places(KEYS[cell], members)
  for i = 1, #members do
    reply[#reply + 1] = members[i]
    for j = 3 * i - 2, 3 * i do
      reply[#reply + 1] = places[j]
    end
  end
  n, cursor = n + #members, next_cursor
  if cursor ~= '0' then
    break
  end
  ended = ended + 1
  if n == page or out_of_time() then
    break
  end
end
reply[3], reply[4] = ended, cursor
return reply
