-- cache_get: reads a value, if the conditions of the request hold.
-- KEYS[1]  the value
-- ARGV[1]  If-Match: '' for none, '*', or tags between blanks
-- ARGV[2]  If-None-Match, the same
--@reply 0, -3 not_modified: cached
--@reply -1 absent
--@reply -2 precondition_failed: version text
-- not_modified: If-None-Match does not hold, so the reader has the value. precondition_failed:
-- If-Match does not hold.
-- Errors: WRONGTYPE. O(1) and the value's bytes.
--@reads
local if_match, if_none_match = ARGV[1], ARGV[2]
local version = cache_version(KEYS[1])
if not version then
  return { -1, now }
end
if if_match ~= '' and not cache_is_listed(if_match, version) then
  return { -2, now, version }
end
return cache_read(KEYS[1], now, version, cache_is_listed(if_none_match, version) and -3 or 0)
