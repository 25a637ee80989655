-- When the messages of a schedule are due. This module must not know the clock or any key.
--
-- A recurrence has `every` and `anchor` (milliseconds: an instant, and every so much after it), or
-- `mask` (handlers/queues/schedules/cron.h: minutes of its zone), and `start` (0: none): nothing is
-- due before that. Both kinds have `shifts`, how the clocks of the zone change (zone_shifts.h,
-- beside cron.h, has the form), so that each script finds the same instants, whatever its daemon
-- knows of zones.
--
-- An instant of a mask is a minute of local time that matches. Minutes that a change of the clock
-- skips are due together, once, at the change. Minutes that come twice are due both times if the
-- mask repeats, else the first time.
local SECONDS_MOST = 366 * 41 * 86400 -- a 29 February on one day of the week may be 40 years away
local FEBRUARY = '010000000000' -- the months of a mask
local DAYS_APART = 2 -- no clock is that far from UTC
local SECONDS_COUNTED = 1001 * 86400
local ONE = 49 -- '1' in a mask
local HOUR_AT, DAY_AT, MONTH_AT, WEEKDAY_AT, EITHER_AT, REPEATS_AT = 60, 84, 115, 127, 135, 136
local FROM_LAST_AT, NEAREST_AT, NEAREST_FROM_LAST_AT, OF_WEEKDAY_AT = 136, 167, 198, 229 -- of a longer mask

-- ---- The calendar ----

-- The day of the month, the month and the year of a day since 1970-01-01 (Hinnant,
-- "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
local function calendar_of(day)
  local z = day + 719468
  local of_era = z % 146097
  local year =
    math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153) -- from March
  year = year + 400 * math.floor(z / 146097)
  if month < 10 then
    return of_year - math.floor((153 * month + 2) / 5) + 1, month + 3, year
  end
  return of_year - math.floor((153 * month + 2) / 5) + 1, month - 9, year + 1
end

-- The first day of a month (days_from_civil). Month 13 is the next January.
local function first_day(year, month)
  local y = month > 2 and year or year - 1
  return 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400) +
    math.floor((153 * ((month + 9) % 12) + 2) / 5) - 719468
end

-- ---- The clocks of a zone ----

local zones -- what was read, by its text

-- read_day(text): a day of a rule: kind, three numbers, and the second of the day.
local function read_day(text)
  local kind, a, b, c, second = text:match('^(%a)(%d+)%.(%d+)%.(%d+)/(-?%d+)$')
  return { kind = kind, a = tonumber(a), b = tonumber(b), c = tonumber(c), second = tonumber(second) }
end

local function zone_of(text)
  zones = zones or {}
  if zones[text] then
    return zones[text]
  end
  local changes, rule = text:match('^([^;]*);?(.*)$')
  local zone = { first = tonumber(changes:match('^%S+')), at = {}, to = {} }
  for at, to in changes:gmatch('(%d+):(%S+)') do
    zone.at[#zone.at + 1], zone.to[#zone.to + 1] = tonumber(at), tonumber(to)
  end
  local standard, summer, begins, ends = rule:match('^(%S+) (%S+) (%S+) (%S+)$')
  if standard then
    zone.rule = { { read_day(begins), tonumber(summer) }, { read_day(ends), tonumber(standard) } }
  end
  zones[text] = zone
  return zone
end

-- instant_of(d, year): the instant of a rule's day in a year.
local function instant_of(d, year)
  local day = first_day(year, 1) + d.a
  if d.kind == 'M' then -- month, week, day of the week
    local first = first_day(year, d.a)
    day = first + (d.c - first - 4) % 7 + 7 * (d.b - 1)
    if day >= first_day(year, d.a + 1) then
      day = day - 7 -- the fifth week means the last
    end
  elseif d.kind == 'J' and (d.a < 60 or first_day(year, 3) - first_day(year, 1) == 59) then
    day = day - 1 -- 29 February is not counted
  end
  return day * 86400 + d.second
end

-- span(zone, t): describes the span between two changes of the zone's clock to which second `t`
-- belongs. Returns its offset; its begin, and the offset before it; its end, and the offset after
-- it. The begin or the end is nil if there is none.
local function span(zone, t)
  local count, i = #zone.at, 0
  while i < count and zone.at[i + 1] <= t do
    i = i + 1
  end
  local offset, began, before = zone.to[i] or zone.first, zone.at[i], zone.to[i - 1] or zone.first
  if i < count or not zone.rule then
    return offset, began, before, zone.at[i + 1], zone.to[i + 1]
  end
  local last, ends, after, changed = began or -math.huge, nil, nil, 0
  local year = math.floor(t / 31556952) + 1970
  for y = year - 2, year + 2 do
    for k, change in ipairs(zone.rule) do
      local at = instant_of(change[1], y)
      if at > last and at <= t then
        changed = changed + 1
        if at > (began or last) then
          began, offset, before = at, change[2], zone.rule[3 - k][2]
        end
      elseif at > t and at < (ends or math.huge) then
        ends, after = at, change[2]
      end
    end
  end
  if changed == 1 then -- the first change by the rule
    before = zone.to[count] or zone.first
  end
  return offset, began, before, ends, after
end

-- offset_at(r, at): the offset of local time from UTC at an instant, in seconds.
local function offset_at(r, at)
  return (span(zone_of(r.shifts), math.floor(at / 1000)))
end

-- ---- The minutes of a mask ----

-- next_month(mask, month, year): the first day of the next month that matches, after `month` of
-- `year`. For a 29 February it leaves out the years that have none.
local function next_month(mask, month, year)
  local at = mask:find('1', MONTH_AT + month + 1, true)
  if at > WEEKDAY_AT then -- no later month of this year
    at, year = mask:find('1', MONTH_AT + 1, true), year + 1
    if mask:sub(MONTH_AT + 1, WEEKDAY_AT) == FEBRUARY and mask:find('1', DAY_AT + 1, true) == DAY_AT + 29
      and mask:byte(EITHER_AT) ~= ONE and #mask == REPEATS_AT then
      year = year + -year % 4
    end
  end
  return first_day(year, at - MONTH_AT)
end

-- has_near(mask, date, length): whether a date of a month of `length` days has W in the mask.
local function has_near(mask, date, length)
  return date >= 1 and date <= length and (mask:byte(NEAREST_AT + date) == ONE
    or mask:byte(NEAREST_FROM_LAST_AT + 1 + length - date) == ONE)
end

-- is_near(mask, date, length, weekday): whether this date, from Monday to Friday, is the nearest to
-- one that has W in the mask, in a month of `length` days. It is in the same month, so for a
-- Saturday the 1st it is the 3rd, and for a Sunday that ends the month the Friday before.
local function is_near(mask, date, length, weekday)
  return weekday >= 1 and weekday <= 5 and (has_near(mask, date, length)
    or weekday == 5 and (has_near(mask, date + 1, length) or date == length - 2 and has_near(mask, length, length))
    or weekday == 1 and (has_near(mask, date - 1, length) or date == 3 and has_near(mask, 1, length)))
end

-- matches_date(mask, date, length, weekday): whether a day of a month of `length` days matches a
-- longer mask; weekday 0 is Sunday.
local function matches_date(mask, date, length, weekday)
  local by_date = mask:byte(DAY_AT + date) == ONE or mask:byte(FROM_LAST_AT + 1 + length - date) == ONE
    or is_near(mask, date, length, weekday)
  local of_weekday = OF_WEEKDAY_AT + 6 * weekday
  local by_weekday = mask:byte(WEEKDAY_AT + 1 + weekday) == ONE
    or mask:byte(of_weekday + math.ceil(date / 7)) == ONE
    or date > length - 7 and mask:byte(of_weekday + 6) == ONE
  return by_date and by_weekday or mask:byte(EITHER_AT) == ONE and (by_date or by_weekday)
end

-- next_special_day(mask, day, last): next_day for a longer mask. It looks at each day of a month
-- that matches.
local function next_special_day(mask, day, last)
  while day <= last do
    local date, month, year = calendar_of(day)
    local length = first_day(year, month + 1) - first_day(year, month)
    if mask:byte(MONTH_AT + month) ~= ONE then
      day = next_month(mask, month, year)
    else
      for of_month = date, length do
        if matches_date(mask, of_month, length, (day + 4) % 7) then -- the first was a Thursday
          return day <= last and day or nil
        end
        day = day + 1
      end
    end
  end
  return nil
end

-- next_day(mask, day, last): the first day from `day` to `last` that matches; nil without one. It
-- steps over the months and the days of a month that cannot match, so that a 29 February on a
-- Sunday costs some twenty steps.
local function next_day(mask, day, last)
  if #mask > REPEATS_AT then
    return next_special_day(mask, day, last)
  end
  local is_either = mask:byte(EITHER_AT) == ONE
  while day <= last do
    local of_month, month, year = calendar_of(day)
    local by_date = mask:byte(DAY_AT + of_month) == ONE
    local by_weekday = mask:byte(WEEKDAY_AT + 1 + (day + 4) % 7) == ONE -- the first was a Thursday
    if mask:byte(MONTH_AT + month) ~= ONE then
      day = next_month(mask, month, year)
    elseif by_date and by_weekday or is_either and (by_date or by_weekday) then
      return day
    elseif by_date or is_either then
      day = day + 1
    else -- the next date of the mask, which this month may not have
      day = math.min(day + mask:find('1', DAY_AT + of_month + 1, true) - DAY_AT - of_month, first_day(year, month + 1))
    end
  end
  return nil
end

-- minute_of_day(mask, from): the first minute of a day from `from` on that matches; nil without
-- one.
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

-- match_within(mask, first, last): the first local minute that matches and begins at local second
-- `first` or later, and before `last`; nil without one.
local function match_within(mask, first, last)
  local minute, stop = math.ceil(first / 60), math.ceil(last / 60)
  local day, from, last_day = math.floor(minute / 1440), minute % 1440, math.ceil(stop / 1440) - 1
  local matching = next_day(mask, day, last_day)
  while matching do
    local found = minute_of_day(mask, matching == day and from or 0)
    if found then
      return matching * 1440 + found < stop and matching * 1440 + found or nil
    end
    matching = next_day(mask, matching + 1, last_day)
  end
  return nil
end

local function ones(mask, first, last)
  return select(2, mask:sub(first, last):gsub('1', ''))
end

-- matches_before(mask, minute): how many minutes of a day match that are before `minute`.
local function matches_before(mask, minute)
  local hour = math.floor(minute / 60)
  local of_hour = minute % 60 > 0 and mask:byte(HOUR_AT + 1 + hour) == ONE and ones(mask, 1, minute % 60) or 0
  return ones(mask, HOUR_AT + 1, HOUR_AT + hour) * ones(mask, 1, HOUR_AT) + of_hour
end

-- count_within(mask, first, last): how many local minutes match_within would find.
local function count_within(mask, first, last)
  local minute, stop = math.ceil(first / 60), math.ceil(last / 60)
  local count, whole_day, last_day = 0, matches_before(mask, 1440), math.ceil(stop / 1440) - 1
  local day = next_day(mask, math.floor(minute / 1440), last_day)
  while day do
    local to = math.min(stop - day * 1440, 1440)
    count = count + (to < 1440 and matches_before(mask, to) or whole_day)
    count = count - matches_before(mask, math.max(minute - day * 1440, 0))
    day = next_day(mask, day + 1, last_day)
  end
  return count
end

-- ---- Instants ----

-- local_times(r, t): returns five values for the span that has second `t`: the local second from
-- which the mask is matched; the local second before which the matching stops; the end of the local
-- seconds that the change after the span skips (the second value if it skips none); the end of the
-- span in UTC; and the offset of the span, which converts between the two clocks.
local function local_times(r, t)
  local offset, began, before, ends, after = span(zone_of(r.shifts), t)
  local first = t + offset
  if began and before > offset and r.mask:byte(REPEATS_AT) ~= ONE then
    first = math.max(first, began + before)
  end
  local stop = ends and ends + offset or math.huge
  return first, stop, ends and math.max(stop, ends + after) or stop, ends or math.huge, offset
end

local function next_of_mask(r, after)
  -- The second of `after` counts, unless a minute begins in it: what the clock skips a second later
  -- belongs to the span before that change.
  local t = math.floor(after / 1000)
  t = t % 60 == 0 and t + 1 or t
  local last = t + SECONDS_MOST
  local last_day = math.floor(last / 86400) + DAYS_APART
  while t < last do
    local day = next_day(r.mask, math.floor(t / 86400) - DAYS_APART, last_day)
    if not day then
      return nil
    end
    t = math.max(t, (day - DAYS_APART) * 86400) -- changes of the clock until then are not looked at
    local first, stop, resumed, ends, offset = local_times(r, t)
    local minute = match_within(r.mask, first, math.min(resumed, last + offset))
    if minute then
      return (minute * 60 < stop and minute * 60 - offset or ends) * 1000
    end
    t = ends
  end
  return nil
end

-- next_instant(r, after): the first instant after `after`; nil without one.
local function next_instant(r, after)
  if r.every then
    return r.anchor + math.max(0, math.floor((after - r.anchor) / r.every) + 1) * r.every
  end
  return next_of_mask(r, math.max(after, r.start - 1))
end

-- instants_between(r, at, now): how many instants are after `at`, itself an instant, and not after
-- `now`. For a mask it counts in the first 1000 days.
local function instants_between(r, at, now)
  if r.every then
    return math.floor((now - at) / r.every)
  end
  local t = math.floor(at / 1000) + 1
  local last, count = math.min(math.floor(now / 1000) + 1, t + SECONDS_COUNTED), 0
  while t < last do
    local first, stop, resumed, ends, offset = local_times(r, t)
    count = count + count_within(r.mask, first, math.min(stop, last + offset))
    if ends < last and match_within(r.mask, stop, resumed) then
      count, ends = count + 1, ends + 1 -- the change itself may match as well
    end
    t = ends
  end
  return count
end
