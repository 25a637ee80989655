-- checkin_get: the days of a range, and the expiry.
-- KEYS[1]  the check-ins of a name
-- ARGV[1]  first day, in days since 1970; '' for a range of ARGV[4] days
-- ARGV[2]  last day; '' for today
-- ARGV[3]  how many days a range may have
-- ARGV[4]  how many days a range without a first day has
--@reply 0: from_day int, to_day int, bits_day int, bits text, expires_at_ms int
--@reply -1 no_range: from_day int, to_day int
-- bits has days in the order of SETBIT, from bits_day on. expires_at_ms is -1 for never.
-- Errors: WRONGTYPE. O(days / BLOCK_DAYS).
--@reads
local from, to, most, usual = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local last = to == '' and math.floor(now / 86400000) or tonumber(to)
local first = from == '' and last - usual + 1 or tonumber(from)
if first > last or last - first + 1 > most then
  return { -1, now, first, last }
end
local fields = {}
local first_block = math.floor(first / BLOCK_DAYS)
for block = first_block, math.floor(last / BLOCK_DAYS) do
  fields[#fields + 1] = format('%d', block)
end
local blocks = redis.call('HMGET', KEYS[1], unpack(fields))
for i = 1, #fields do
  local days = blocks[i] or ''
  blocks[i] = days .. string.rep('\0', BLOCK_DAYS / 8 - #days)
end
return { 0, now, first, last, first_block * BLOCK_DAYS, table.concat(blocks), expiry_reply(expiry_at(KEYS)) }
