-- bloom_patch: changes when a filter expires.
-- KEYS     the keys of a filter (bloom/lib_bloom.lua)
-- ARGV[1]  ttl_ms, as lua/lib/expiry.lua reads it
--@reply 1 changed, 0: bloom_filter
--@reply -1 absent
--@reply -2 more_keys: bloom_more
-- Errors: WRONGTYPE, nothing done. O(segments).
--@flags allow-oom
local ttl = ARGV[1]
local filter = bloom_read()
if not filter then
  return { -1, now }
elseif #KEYS - 1 < filter.segments then
  return { -2, now, filter.segments }
end
return bloom_reply(ttl == '' and 0 or 1, now, filter, bloom_expire(filter, now, ttl))
