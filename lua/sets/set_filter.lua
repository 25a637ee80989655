-- set_filter: which of some members are in all of these sets, or in none of them. Combinations and
-- merges keep the members that stay; with one set it is a lookup.
-- KEYS     the sets, at most 10
-- ARGV[1]  'intersect': members stay that are in all sets; 'subtract': members stay that are in
--          none
-- ARGV     members, 1 to 1000
--@reply 0: stays text
-- stays has a digit for each member: '1' when it stays.
-- Errors: WRONGTYPE. O(sets * members).
--@reads
local how = ARGV[1]
local wanted = how == 'intersect' and 1 or 0
local stays = {}
for i = 2, #ARGV do
  stays[i - 1] = '1'
end
for _, key in ipairs(KEYS) do
  for i, is_in in ipairs(redis.call('SMISMEMBER', key, unpack(ARGV, 2))) do
    if is_in ~= wanted then
      stays[i] = '0'
    end
  end
end
return { 0, now, table.concat(stays) }
