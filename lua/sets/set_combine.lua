-- set_combine: the union of sets, their intersection, or the first without the members of the
-- others.
-- KEYS     the sets, at most 10
-- ARGV[1]  'union', 'intersect' or 'subtract'
--@reply 0: members text...
--@reply -1 too_many: size int, most int
-- size is how many members Redis would have to read: all members for a union, the smallest set for
-- an intersection, the first set for a difference.
-- Errors: WRONGTYPE. O(sets * 1000).
--@reads
local how = ARGV[1]
local most = 1000
local commands = { union = 'SUNION', intersect = 'SINTER', subtract = 'SDIFF' }
local all, least, first = 0, math.huge, nil
for i = 1, #KEYS do
  local size = redis.call('SCARD', KEYS[i])
  all, least, first = all + size, math.min(least, size), first or size
end
local members = how == 'union' and all or how == 'intersect' and least or first
if members > most then
  return { -1, now, members, most }
end
return { 0, now, unpack(redis.call(commands[how], unpack(KEYS))) }
