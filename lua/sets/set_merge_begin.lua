-- set_merge_begin: the sizes of the sets that are to be merged.
-- KEYS  1 the set to be made, 2.. the sets that it is made of, at most 100
--@reply 0: sizes int...
--@reply 1: set
-- 0: there is a size for each set that it is made of. 1: a replay, after set_merge_end answered the
-- request.
-- Errors: WRONGTYPE, nothing done. O(sets).
--@idempotent
local reply = { 0, now }
for i, key in ipairs(KEYS) do
  local size = redis.call('SCARD', key)
  if i > 1 then
    reply[1 + i] = size
  end
end
return reply
