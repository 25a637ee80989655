-- geo_add: puts members where they are now, all or none.
-- KEYS[1]  the set: sorted set of GEOADD, no TTL
-- ARGV     longitude, latitude, member; and so on, at most 1000 members (of one named twice the last counts)
-- Returns {1, now, added, updated}: members that were not there before, and members that were, moved or not
-- Errors: WRONGTYPE, or ERR for a place outside the ranges, nothing done. O(N log M).
--@include time
--@idempotent
local now = now_ms()
local seen, members = {}, 0
for i = 3, #ARGV, 3 do
  if not seen[ARGV[i]] then
    seen[ARGV[i]] = true
    members = members + 1
  end
end
local before = redis.call('ZCARD', KEYS[1])
redis.call('GEOADD', KEYS[1], unpack(ARGV))
local added = redis.call('ZCARD', KEYS[1]) - before
return {1, now, added, members - added}
