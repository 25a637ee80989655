-- set_member_write: adds members to a set and removes others from it.
-- KEYS  1 the set; its TTL, if it has one, stays; 2 the index of names (lib/made.lua)
-- ARGV[1]  how many members to add
-- ARGV     these, and then the members to remove, none of which is also added; at most 1000 in all
--@reply 1 changed, 0: set_written
--@shape set_written: added int, removed int, size int
-- Errors: WRONGTYPE, nothing done. O(members).
-- It adds first, because a set that loses its last member loses its TTL.
--@idempotent
local adds = tonumber(ARGV[1])
local added, removed = 0, 0
if adds > 0 then
  added = redis.call('SADD', KEYS[1], unpack(ARGV, 2, 1 + adds))
  if added == redis.call('SCARD', KEYS[1]) then
    made = { KEYS[1] }
  end
end
if #ARGV > 1 + adds then
  removed = redis.call('SREM', KEYS[1], unpack(ARGV, 2 + adds))
end
return { added + removed > 0 and 1 or 0, now, added, removed, redis.call('SCARD', KEYS[1]) }
