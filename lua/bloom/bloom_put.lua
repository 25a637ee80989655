-- bloom_put: creates a filter, or replaces the expiry of one that has the same capacity and error
-- rate. bloom_item_add allocates the bits.
-- KEYS     the keys of a filter (bloom/lib_bloom.lua), and the index of names (lib/made.lua)
-- ARGV[1]  capacity: items, at least 1
-- ARGV[2]  the error rate promised, above 0 and below 1
-- ARGV[3]  ttl_ms, as lua/lib/expiry.lua reads it
--@reply 1 created, 2 known, -4 other: bloom_filter
--@reply -2 more_keys: bloom_more
--@again -3 again
-- known: it exists, and its expiry is replaced. other: it exists with another capacity or error
-- rate. again: a filter of this name is still being deleted.
-- Errors: WRONGTYPE, nothing done. O(segments).
local capacity, error_rate, ttl = ARGV[1], ARGV[2], ARGV[3]
local filter, left = bloom_read()
local function is_other()
  return tonumber(filter.capacity) ~= tonumber(capacity) or tonumber(filter.error_rate) ~= tonumber(error_rate)
end
if filter and is_other() then
  return bloom_reply(-4, now, filter, expiry_at({ KEYS[1] }))
elseif #KEYS - 1 < (left or filter and filter.segments or 0) then
  return { -2, now, left or filter.segments }
elseif filter then
  return bloom_reply(2, now, filter, bloom_expire(filter, now, ttl))
elseif left and not bloom_free(left) then
  return { -3, now }
end
filter = bloom_create(capacity, error_rate)
made = { KEYS[1] }
return bloom_reply(1, now, filter, bloom_expire(filter, now, ttl))
