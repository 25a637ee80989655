-- geo_member_delete: removes one member from a set. Without members the set ends, unless PUT or
-- PATCH made it.
-- KEYS[1]  the set. KEYS[2] the member's cell
-- ARGV[1]  the member
-- ARGV[2]  how many cells
--@reply 1 removed, 0 absent
--@reply -3 resized: geo_resized
-- Errors: WRONGTYPE, nothing done. O(log M).
--@flags allow-oom
local member = ARGV[1]
local cells, other = geo_cells(now)
if not cells then
  return other
end
local removed = redis.call('ZREM', KEYS[2], member)
if removed > 0 and redis.call('HINCRBY', KEYS[1], 'size', '-1') == 0
  and redis.call('HEXISTS', KEYS[1], 'kept') == 0 then
  redis.call('DEL', KEYS[1])
end
return { removed, now }
