-- checkin_day_delete: deletes a day. It also deletes the field if no day is left in it, and with
-- the last field the key.
-- KEYS[1]  the check-ins of a name
-- ARGV[1]  the day, in days since 1970
--@reply 1 deleted, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1).
--@flags allow-oom
local day = tonumber(ARGV[1])
local field, at, bit_value = checkin_place(day)
local days = redis.call('HGET', KEYS[1], field) or ''
local byte = string.byte(days, at) or 0
if bit.band(byte, bit_value) == 0 then
  return { 0, now }
end
days = string.sub(days, 1, at - 1) .. string.char(byte - bit_value) .. string.sub(days, at + 1)
if string.find(days, '[^%z]') then
  redis.call('HSET', KEYS[1], field, days)
else
  redis.call('HDEL', KEYS[1], field)
end
return { 1, now }
