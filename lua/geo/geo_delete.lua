-- geo_delete: removes a whole set.
-- KEYS[1]  the set. KEYS[2..] all its cells
-- ARGV[1]  how many cells
--@reply 1 removed: size int
--@reply 0 absent
--@reply -3 resized: geo_resized
-- size is how many members it had.
-- Errors: WRONGTYPE, nothing done. O(cells); Redis frees the memory in the background.
--@flags allow-oom
local cells, other, is_absent = geo_cells(now)
if not cells then
  return other
end
if is_absent then
  return { 0, now }
end
local members = tonumber(redis.call('HGET', KEYS[1], 'size') or '0')
redis.call('UNLINK', unpack(KEYS))
return { 1, now, members }
