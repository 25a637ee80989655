-- checkin_get: the days of a range, and the expiry.
-- KEYS[1]  the check-ins of a name
-- ARGV[1]  first day, in days since 1970; '' for the earliest that the range may have
-- ARGV[2]  last day; '' for today
-- ARGV[3]  how many days a range may have
-- Returns {0, now, first day, last day, day of the first bit, days as bits in the order of SETBIT,
--         expires_at_ms (-1: never)}
--         {-1, now, first day, last day} there is no such range
-- Errors: WRONGTYPE. O(days / BLOCK_DAYS).
--@include time expiry checkin
--@reads
local now = now_ms()
local most = tonumber(ARGV[3])
local last = ARGV[2] == '' and math.floor(now / 86400000) or tonumber(ARGV[2])
local first = ARGV[1] == '' and last - most + 1 or tonumber(ARGV[1])
if first > last or last - first + 1 > most then
  return {-1, now, first, last}
end
local fields = {}
local first_block = math.floor(first / BLOCK_DAYS)
for block = first_block, math.floor(last / BLOCK_DAYS) do
  fields[#fields + 1] = digits(block)
end
local blocks = redis.call('HMGET', KEYS[1], unpack(fields))
for i = 1, #fields do
  local days = blocks[i] or ''
  blocks[i] = days .. string.rep('\0', BLOCK_DAYS / 8 - #days)
end
return {0, now, first, last, first_block * BLOCK_DAYS, table.concat(blocks), expiry_reply(expires_at(KEYS))}
