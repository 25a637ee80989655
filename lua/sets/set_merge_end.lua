-- set_merge_end: replaces a set with the merge that was built aside.
-- KEYS  1 the set, 2 what was built, 3 the index of names (lib/made.lua)
-- ARGV  1 how many members were built
--@reply 1: set
--@reply -1 lost
-- The set keeps its expiry; without members it does not exist. lost: what was built does not have
-- that many members any more.
-- Errors: WRONGTYPE, nothing done. O(1): Redis frees the old members in the background, which
-- RENAME alone would not do.
--@idempotent
local built = tonumber(ARGV[1])
local old_size, size = redis.call('SCARD', KEYS[1]), redis.call('SCARD', KEYS[2])
if size ~= built then
  return { -1, now }
end
local at = expiry_at({ KEYS[1] })
redis.call('UNLINK', KEYS[1])
if size > 0 then
  redis.call('RENAME', KEYS[2], KEYS[1])
  expire({ KEYS[1] }, at)
end
if old_size == 0 and size > 0 then
  made = { KEYS[1] }
end
local state = set_state(KEYS[1], now)
state[1] = 1
return state
