-- Days are numbers since 1970-01-01 (UTC), by Redis's clock: the clock of a caller may be wrong.
-- This module must not know what is counted per day.
-- day_of(now): the number of today. day_is_wrong(now, expected): whether today is not `expected`,
-- the day that the caller took for today; '' is never wrong.
local DAY_MS = 86400000
local function day_of(now)
  return math.floor(now / DAY_MS)
end
local function day_is_wrong(now, expected)
  return expected ~= '' and tonumber(expected) ~= day_of(now)
end
