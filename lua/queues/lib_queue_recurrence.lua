-- When the messages of a schedule are due. Pure: knows no clock and no key.
--
-- A recurrence has `every` and `anchor` (milliseconds: an instant, and every so much after it), or
-- `mask` (handlers/queues/cron.h: minutes of UTC), and `start` (0: none): nothing is due before.
local DAYS_MOST = 366 * 41 -- a 29 February on one day of the week may be 40 years away
local ONE = 49 -- '1' in a mask
local HOUR_AT, DAY_AT, MONTH_AT, WEEKDAY_AT, EITHER_AT = 60, 84, 115, 127, 135

-- The day of the month and the month of a day since 1970-01-01 (Hinnant, "chrono-Compatible
-- Low-Level Date Algorithms", civil_from_days).
local function calendar_of(day)
  local z = day + 719468
  local of_era = z % 146097
  local year =
    math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153) -- from March
  return of_year - math.floor((153 * month + 2) / 5) + 1, month < 10 and month + 3 or month - 9
end

-- Whether a day matches, and the next one to look at: no day of a month that does not match does.
local function day_matches(mask, day)
  local of_month, month = calendar_of(day)
  if mask:byte(MONTH_AT + month) ~= ONE then
    return false, day + math.max(1, 28 - of_month)
  end
  local by_date = mask:byte(DAY_AT + of_month) == ONE
  local by_weekday = mask:byte(WEEKDAY_AT + 1 + (day + 4) % 7) == ONE -- the first was a Thursday
  if mask:byte(EITHER_AT) == ONE then
    return by_date or by_weekday, day + 1
  end
  return by_date and by_weekday, day + 1
end

-- The first minute of a day from `from` on that matches; nil when there is none.
local function minute_of_day(mask, from)
  local hour = math.floor(from / 60)
  local minute = mask:byte(HOUR_AT + 1 + hour) == ONE and mask:find('1', 1 + from % 60, true)
  if minute and minute <= HOUR_AT then
    return hour * 60 + minute - 1
  end
  local later = mask:find('1', HOUR_AT + 1 + hour + 1, true)
  if not later or later > DAY_AT then
    return nil
  end
  return (later - HOUR_AT - 1) * 60 + mask:find('1', 1, true) - 1
end

local function next_of_mask(mask, after)
  local minute = math.floor(after / 60000) + 1
  local day, from = math.floor(minute / 1440), minute % 1440
  local last = day + DAYS_MOST
  while day < last do
    local matches, next_day = day_matches(mask, day)
    local found = matches and minute_of_day(mask, from)
    if found then
      return (day * 1440 + found) * 60000
    end
    day, from = next_day, 0
  end
  return nil
end

-- The first instant after `after`; nil when there is none.
local function next_instant(r, after)
  if r.every then
    return r.anchor + math.max(0, math.floor((after - r.anchor) / r.every) + 1) * r.every
  end
  return next_of_mask(r.mask, math.max(after, r.start - 1))
end

local function ones(mask, first, last)
  return select(2, mask:sub(first, last):gsub('1', ''))
end

-- How many minutes of a day match that are not after `minute`.
local function matching_until(mask, minute)
  local hour = math.floor(minute / 60)
  local of_hour = mask:byte(HOUR_AT + 1 + hour) == ONE and ones(mask, 1, 1 + minute % 60) or 0
  return ones(mask, HOUR_AT + 1, HOUR_AT + hour) * ones(mask, 1, HOUR_AT) + of_hour
end

-- How many instants there are after `at`, itself one, and not after `now`. Of a mask those of the
-- first 1000 days are counted.
local function instants_between(r, at, now)
  if r.every then
    return math.floor((now - at) / r.every)
  end
  local first, last = math.floor(at / 60000), math.floor(now / 60000)
  local day, last_day = math.floor(first / 1440), math.floor(last / 1440)
  local count, whole_day = -matching_until(r.mask, first % 1440), matching_until(r.mask, 1439)
  local d = day
  while d <= math.min(last_day, day + 1000) do
    local matches, next_day = day_matches(r.mask, d)
    if matches then
      count = count + (d == last_day and matching_until(r.mask, last % 1440) or whole_day)
    end
    d = next_day
  end
  return count
end
