-- bloom_item_lookup: whether items are in a filter, for as many as fit into half a millisecond.
-- KEYS     the keys of a filter (bloom/lib_bloom.lua)
-- ARGV     items, at least 1: the 16 bytes of their hash
--@reply 0: bloom_step
--@reply -2 more_keys: bloom_more
-- A digit is '1' when the item is there or is a false positive, and '0' when it is not. A filter
-- that does not exist has no items.
-- Errors: WRONGTYPE. O(items * (hashes + layers)), in all at most 160 bits and the bits of one
-- item.
--@reads
local filter = bloom_read()
if not filter then
  return { 0, now, string.rep('0', #ARGV) }
elseif #KEYS < filter.keys then
  return { -2, now, filter.keys - 1 }
end
bloom_check(filter)
local found, calls = {}, 0
for i = 1, #ARGV do
  if calls >= BLOOM_MOST_CALLS then
    break
  end
  local is_there, asked = bloom_has(filter, #filter, ARGV[i])
  found[i] = is_there and '1' or '0'
  calls = calls + asked
end
return { 0, now, table.concat(found) }
