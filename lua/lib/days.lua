-- Days are numbers since 1970-01-01 (UTC). Who names "today" by a clock of its own may be wrong: a script has Redis's.
-- day_is_wrong(now, expected): expected is the day that was taken for today, or '' when no day of the call was.
local function day_is_wrong(now, expected)
  return expected ~= '' and tonumber(expected) ~= math.floor(now / 86400000)
end
