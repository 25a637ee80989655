-- set_merge_page: some members of a set that is to be merged, by SSCAN.
-- KEYS[1]  the set
-- ARGV[1]  cursor: '0' to begin, or as returned before
--@reply 0: next_cursor text, found [set_members]
--@shape set_members: members text...
-- next_cursor is '0' at the end. A set that Redis keeps in one piece of memory is returned whole:
-- up to 512 members with Redis's own settings.
-- Errors: WRONGTYPE. O(STEP) in SSCAN's sense.
--@reads
local cursor = ARGV[1]
local STEP = '500'
local page = redis.call('SSCAN', KEYS[1], cursor, 'COUNT', STEP)
return { 0, now, page[1], page[2] }
