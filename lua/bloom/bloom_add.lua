-- bloom_add: adds items to a filter, as many as half a millisecond takes.
-- KEYS     the filter's (bloom/lib_bloom.lua)
-- ARGV     items, at least 1, none of them twice: the 16 bytes of their hash
-- Returns {1, now, text}: a digit for each of the first items: '1' it was added, '0' it was there
--         before, or it is a false positive. The items without a digit are left: call again with
--         them
--         {-1, now}, {-2, now, segments}, {-3, now}: see bloom/lib_bloom.lua
--         {-4, now} the newest layer is full, and another would make the filter larger than 2^32
--         bits: nothing done
-- Errors: WRONGTYPE, nothing done. O(items * (hashes + layers)), in all at most 160 bits and those
-- of one item; or one segment is allocated.
--@include time expiry bloom
--@idempotent parts
local now = now_ms()
local filter = bloom_read()
if not filter then
  return { -1, now }
elseif #KEYS < filter.keys then
  return { -2, now, filter.keys - 1 }
end
local newest = filter[#filter]
if newest.items >= newest.capacity then
  return { bloom_grow(filter) and -3 or -4, now }
elseif filter.segments < filter.keys - 1 then
  local key = filter.segments + 2
  if redis.call('STRLEN', KEYS[key]) > 0 then
    redis.call('UNLINK', KEYS[key]) -- of a filter whose hash was removed by hand: its bits are none of ours
  end
  redis.call('SETBIT', KEYS[key], bloom_bytes(newest, key) * 8 - 1, 0)
  bloom_expire_segment(key, expires_at({ KEYS[1] }))
  redis.call('HSET', KEYS[1], 'segments', digits(key - 1))
  return { -3, now }
end

bloom_check(filter)

local added, calls = {}, 0
for i = 1, #ARGV do
  if calls >= bloom_most_calls or newest.items == newest.capacity then
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
