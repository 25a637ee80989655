-- checkin_day_put: stores a day; the expiry stays.
-- KEYS[1]  the check-ins of a name: hash
-- ARGV[1]  the day, in days since 1970
--@reply 1 new, 0 known
-- Errors: WRONGTYPE, nothing done. O(1).
local day = tonumber(ARGV[1])
local field, at, bit_value = checkin_place(day)
local days = redis.call('HGET', KEYS[1], field) or ''
days = days .. string.rep('\0', at - #days)
local byte = string.byte(days, at)
if bit.band(byte, bit_value) > 0 then
  return { 0, now }
end
days = string.sub(days, 1, at - 1) .. string.char(byte + bit_value) .. string.sub(days, at + 1)
redis.call('HSET', KEYS[1], field, days)
return { 1, now }
