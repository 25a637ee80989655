-- set_sizes: how many members sets have.
-- KEYS  the sets, at most 10
--@reply 0: sizes int...
-- Errors: WRONGTYPE. O(sets).
--@reads
local reply = { 0, now }
for i, key in ipairs(KEYS) do
  reply[2 + i] = redis.call('SCARD', key)
end
return reply
