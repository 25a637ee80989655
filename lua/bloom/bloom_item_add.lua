-- bloom_item_add: adds items to a filter, as many as fit into half a millisecond. If the filter
-- does not exist, the first call creates it.
-- KEYS     the keys of a filter (bloom/lib_bloom.lua), and the index of names (lib/made.lua)
-- ARGV     items, at least 1, none of them twice: the 16 bytes of their hash
--@reply 1: bloom_step
--@reply -2 more_keys: bloom_more
--@again -3 again
--@reply -4 full
--@reply -5 created
-- A digit is '1' when the item was added, '0' when it was there before or is a false positive.
-- full: the newest layer is full, and another one would make the filter larger than 2^32 bits;
-- nothing done. created: the filter exists now, without items; call again.
-- Errors: WRONGTYPE, nothing done. O(items * (hashes + layers)), in all at most 160 bits and the
-- bits of one item; or it allocates one segment.
--@idempotent parts
local filter, left = bloom_read()
if not filter and #KEYS - 1 < (left or 0) then
  return { -2, now, left }
elseif left and not bloom_free(left) then
  return { -3, now }
elseif not filter then
  bloom_create(BLOOM_USUAL_CAPACITY, BLOOM_USUAL_ERROR_RATE)
  made = { KEYS[1] }
  return { -5, now }
elseif #KEYS < filter.keys then
  return { -2, now, filter.keys - 1 }
end
local newest = filter[#filter]
if newest.items >= newest.capacity then
  return { bloom_grow(filter) and -3 or -4, now }
elseif filter.segments < filter.keys - 1 then
  local key = filter.segments + 2
  if redis.call('STRLEN', KEYS[key]) > 0 then
    redis.call('UNLINK', KEYS[key]) -- from a filter whose hash a user deleted
  end
  redis.call('SETBIT', KEYS[key], bloom_bytes(newest, key) * 8 - 1, 0)
  bloom_expire_segment(key, expiry_at({ KEYS[1] }))
  redis.call('HSET', KEYS[1], 'segments', format('%d', key - 1))
  return { -3, now }
end

bloom_check(filter)

local added, calls = {}, 0
for i = 1, #ARGV do
  if calls >= BLOOM_MOST_CALLS or newest.items == newest.capacity then
    break
  end
  local set = 0
  local is_known, asked = bloom_has(filter, #filter - 1, ARGV[i])
  if not is_known then
    set = bloom_bits(newest, ARGV[i], true)
    asked = asked + newest.hashes
  end
  newest.set = newest.set + set
  newest.items = newest.items + (set > 0 and 1 or 0)
  added[i] = set > 0 and '1' or '0'
  calls = calls + asked
end
bloom_save(filter)
return { 1, now, table.concat(added) }
