-- The check-ins of a name are a hash. Field n has the days from n * BLOCK_DAYS on, counted from
-- 1970-01-01, as bits in the order of SETBIT. A field has 46 bytes, so that a hash of a few years
-- stays a listpack. A block is not a calendar year, so leap years are not a special case. This
-- module must not know which day is today.
local BLOCK_DAYS = 368
-- checkin_place(day): the field of a day, its byte there (from 1), and the value of its bit in that
-- byte.
local function checkin_place(day)
  local block = math.floor(day / BLOCK_DAYS)
  local at = day - block * BLOCK_DAYS
  return format('%d', block), math.floor(at / 8) + 1, 2 ^ (7 - at % 8)
end
