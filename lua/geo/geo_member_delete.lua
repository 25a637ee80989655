-- geo_member_delete: takes one member out of a set.
-- KEYS[1]  the set. KEYS[2] the member's cell, when it is split
-- ARGV[1]  the member
-- ARGV[2]  of a split set: how many cells
--@reply 1 removed, 0 absent
--@reply -3 again: geo_again
-- Errors: WRONGTYPE, nothing done. O(log M).
--@include time geo_cells
--@flags allow-oom
local now = now_ms()
local cells, other = geo_cells(now)
if not cells then
  return other
end
local removed = redis.call('ZREM', KEYS[2] or KEYS[1], ARGV[1])
if cells > 0 and removed > 0 then
  redis.call('HINCRBY', KEYS[1], 'size', -1)
end
return {removed, now}
