"""Finds the instants of cron expressions in time zones in two ways: with the scripts of the daemon
on a private Redis, and with a slow reference that walks through the minutes with Python's zoneinfo.
"""
import calendar
import datetime
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from stage import Redis, redis  # noqa: E402

RECURRENCE = pathlib.Path(__file__).resolve().parents[2] / "lua/queues/schedules/lib_queue_recurrence.lua"
MINUTE = 60
# Counts the divisions of the recurrence, as a measure of its steps that no load changes.
COUNTED = """
local plain, divisions = math, 0
local math = { ceil = plain.ceil, max = plain.max, min = plain.min, huge = plain.huge }
function math.floor(number)
  divisions = divisions + 1
  return plain.floor(number)
end
"""
# ARGV: a list of {mask, shifts, after, until} in ms. Returns for each the instants after `after` up
# to `until`, how many instants_between finds from the first instant to `until`, and the divisions
# that the first instants took, per instant.
ALL_WITHIN = """
local all = {}
for i, asked in ipairs(cjson.decode(ARGV[1])) do
  local r = { mask = asked[1], shifts = asked[2], start = 0 }
  local found, at = {}, asked[3]
  divisions = 0
  while true do
    at = next_instant(r, at)
    if not at or at > asked[4] then break end
    found[#found + 1] = string.format('%d', at)
  end
  local steps = divisions / math.max(#found, 1)
  all[i] = { found, steps, #found > 0 and instants_between(r, tonumber(found[1]), asked[4]) or 0 }
end
return cjson.encode(all)
"""


class Scripts:
    """A private Redis that runs the recurrence."""

    def __enter__(self):
        self.redis = Redis("--lua-time-limit", "60000").__enter__()
        self.script = COUNTED + RECURRENCE.read_text() + ALL_WITHIN
        return self

    def __exit__(self, *_):
        self.redis.__exit__()

    def ask(self, queries):
        """Returns for each [mask, shifts, after_ms, until_ms] the instants in ms, how many are
        counted, and the divisions for each instant.
        """
        reply = redis(self.redis.path, "EVAL", self.script, 0, json.dumps(queries), timeout=60)
        return [([int(at) for at in found], count, steps) for found, steps, count in json.loads(reply)]


class Daemon:
    """Asks tests/programs/schedule_times.c what the daemon makes of expressions and zones."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def mask(self, expression):
        return self.ask(f"C{expression}")

    def shifts(self, path, since):
        return self.ask(f"Z{since} {path}")


def nearest_weekday(year, month, date, length):
    """The day from Monday to Friday that is nearest to a date of the same month."""
    dates = range(max(1, date - 2), min(length, date + 2) + 1)
    return min((d for d in dates if datetime.date(year, month, d).weekday() < 5), key=lambda d: abs(d - date))


def matches_more(more, local):
    """Whether a day has L, W or # in the longer part of a mask, by its date and by its weekday."""
    length = calendar.monthrange(local.year, local.month)[1]
    named = [length - n for n in range(31) if more[n] == "1"]
    targets = [n + 1 for n in range(31) if more[31 + n] == "1"] + [length - n for n in range(31) if more[62 + n] == "1"]
    near = [nearest_weekday(local.year, local.month, t, length) for t in targets if 1 <= t <= length]
    of_weekday = more[93 + local.isoweekday() % 7 * 6 :][:6]
    same = [d for d in range(1, length + 1) if (d - local.day) % 7 == 0]
    return local.day in named + near, of_weekday[same.index(local.day)] == "1" or (
        of_weekday[5] == "1" and local.day == same[-1]
    )


def matches_day(mask, local):
    """Whether a day of local time has minutes of a mask (handlers/queues/schedules/cron.h)."""
    more = matches_more(mask[136:], local) if len(mask) > 136 else (False, False)
    by_date = mask[83 + local.day] == "1" or more[0]
    by_weekday = mask[127 + local.isoweekday() % 7] == "1" or more[1]
    by_day = (by_date or by_weekday) if mask[134] == "1" else (by_date and by_weekday)
    return mask[114 + local.month] == "1" and by_day


def matches(mask, local):
    return mask[local.minute] == "1" and mask[60 + local.hour] == "1" and matches_day(mask, local)


class Window:
    """The minutes after one instant up to another, in seconds, as a clock in a zone shows them."""

    def __init__(self, zone, after, until):
        self.minutes, self.after, self.until = [], after, until
        before = datetime.datetime.fromtimestamp(after, zone)
        for at in range(after + MINUTE, until + 1, MINUTE):
            local = datetime.datetime.fromtimestamp(at, zone)
            jump = (local.replace(tzinfo=None) - before.replace(tzinfo=None)).total_seconds() // MINUTE
            skipped = [before.replace(tzinfo=None) + datetime.timedelta(minutes=n) for n in range(1, int(jump))]
            self.minutes.append((at, local, skipped))
            before = local

    def instants(self, mask):
        """A minute that comes twice has fold 1 the second time."""
        return [
            at * 1000
            for at, local, skipped in self.minutes
            if (matches(mask, local) and (mask[135] == "1" or not local.fold)) or any(matches(mask, s) for s in skipped)
        ]


def changes(zone, first, last):
    """When the clocks of a zone change, in seconds, and what they show before and afterwards."""

    def offset(at):
        return datetime.datetime.fromtimestamp(at, zone).utcoffset()

    day, found, after = 86400, [], offset(first)
    for at in range(first, last, day):
        before, after = after, offset(at + day)
        if before == after:
            continue
        low, high = at, at + day
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append((high, before, after))
    return tuple(found) or ((first, after, after),)
