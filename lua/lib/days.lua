-- Days are numbers since 1970-01-01 (UTC). A caller's clock may be wrong about "today"; Redis's
-- decides. day_of(now) is today. day_is_wrong(now, expected): expected is the day that the caller
-- took for today, '' for none.
local function day_of(now)
  return math.floor(now / 86400000)
end
local function day_is_wrong(now, expected)
  return expected ~= '' and tonumber(expected) ~= day_of(now)
end
