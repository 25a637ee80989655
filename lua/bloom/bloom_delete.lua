-- bloom_delete: one step of deleting a filter. After the first step the filter does not exist.
-- KEYS  the keys of a filter (bloom/lib_bloom.lua)
--@reply 1 removed
--@reply -1 absent
--@reply -2 more_keys: bloom_more
--@again 2 again
-- Errors: WRONGTYPE, nothing done. O(segments); a step frees at most 8 MiB.
--@flags allow-oom
local filter, left = bloom_read()
if not filter and not left then
  return { -1, now }
end
local segments = left or filter.segments
if #KEYS - 1 < segments then
  return { -2, now, segments }
end
if filter then
  for key = 2, segments + 1 do
    redis.call('STRLEN', KEYS[key]) -- fails here, and not halfway, if one of them is not a string
  end
end
return { bloom_free(segments) and 1 or 2, now }
