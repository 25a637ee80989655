#!/usr/bin/env python3
"""Tests cron expressions in time zones. tests/time_zones/test_instants.py SCHEDULE_TIMES

- The facts of facts.txt hold.
- In every zone, around each change of its clocks in ten years and at some other times, the scripts
  find the instants that a walk through the minutes with Python's zoneinfo finds, and count as many.
  Zones whose clocks show the same in these years are tried once.
- The next five instants of rare expressions, such as 29 February on a Sunday, are those that a walk
  through the days finds. None takes the scripts many steps.
- Files that list the changes up to 2037, and files that leave them to a rule, become the same text,
  for every zone; no text takes more than 2 KiB.

PATTERND_ZONES names folders of zones to try instead of the system's, such as a folder of another
version of the database.
"""
import datetime
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zoneinfo

from instants import Daemon, Scripts, Window, changes, matches_day

HERE = pathlib.Path(__file__).resolve().parent
SYSTEM = pathlib.Path("/usr/share/zoneinfo")
SINCE, SINCE_FACTS = 1577836800, 1262304000  # handlers/queues/schedules/zone_shifts.h; before the facts
FIRST = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp())
TEN_YEARS = 3653 * 86400
UNTIL = 2840140800 - 7 * 86400  # the shifts of some zones end in 2060
AROUND = 3 * 3600
RARE, MOST_STEPS = 120, 1500
MOST_BYTES = 2048
EXPRESSIONS = [
    "@hourly",
    "@daily",
    "30 * * * *",
    "*/20 * * * *",
    "17,47 1-3 * * *",
    "*/30 1 * * *",
    "0 0-23/2 * * *",
    "30 2 * * *",
    "15 0,1,2,3 * * sun",
    "59 23 28-31 * *",
    "5 1-4 1-7 * 0",
    "0-59/7 * 1 4,10 6,0",
    "30 0 L * *",
    "45 1-2 L-3,LW,15w * ?",
    "30 2 ? * sun#2,fril,3#5",
    "0 0 31W,L-2W * 1#1",
]


def zones_of(folder):
    """The names of IANA's zones. Zones with leap seconds and other files are left out."""
    foreign = {"posix", "right", "localtime", "posixrules", "Factory"}
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file()
        and path.relative_to(folder).parts[0] not in foreign
        and path.open("rb").read(4) == b"TZif"
    )


def try_facts(daemon, scripts):
    tried = 0
    for line in (HERE / "facts.txt").read_text().splitlines():
        if not line or line[0] == "#":
            continue
        zone, after, wanted, expression = line.split(None, 3)
        after, wanted = (round(datetime.datetime.fromisoformat(t).timestamp() * 1000) for t in (after, wanted))
        query = [daemon.mask(expression), daemon.shifts(SYSTEM / zone, SINCE_FACTS), after, wanted + 2 * 86400000]
        found, _, _ = scripts.ask([query])[0]
        assert found and found[0] == wanted, f"{line}: {found[:1]}"
        tried += 1
    assert tried > 150, tried
    return tried


def try_zone(zone, shifts, around, masks, scripts):
    """Tries a zone around each change and at three other times."""
    at_random = random.Random(shifts)
    around += [FIRST + 60 * at_random.randrange(TEN_YEARS // 60) for _ in range(3)]
    windows = [(at // 60 * 60 - AROUND, at // 60 * 60 + AROUND) for at in around]
    replies = iter(scripts.ask([[mask, shifts, w[0] * 1000, w[1] * 1000] for w in windows for mask in masks.values()]))
    for w in windows:
        window = Window(zone, *w)
        for expression, mask in masks.items():
            found, count, _ = next(replies)
            wanted = window.instants(mask)
            assert found == wanted, f"{zone} {w} {expression}: {found}, not {wanted}"
            assert count == max(0, len(wanted) - 1), f"{zone} {w} {expression}: counts {count}, not {len(wanted) - 1}"
    return len(windows) * len(masks)


def try_zones(folder, daemon, scripts):
    zoneinfo.reset_tzpath([str(folder)])
    masks = {expression: daemon.mask(expression) for expression in EXPRESSIONS}
    names, known, tried, longest = zones_of(folder), set(), 0, ("", "")
    for name in names:
        shifts = daemon.shifts(folder / name, SINCE)
        assert not shifts.startswith("!"), f"{name}: {shifts}"
        longest = max(longest, (shifts, name), key=lambda one: len(one[0]))
        zone = zoneinfo.ZoneInfo(name)
        clocks = changes(zone, FIRST, FIRST + TEN_YEARS)
        if (shifts, clocks) not in known:
            known.add((shifts, clocks))
            tried += try_zone(zone, shifts, [at for at, _, _ in clocks], masks, scripts)
    assert len(names) > 300, f"{folder} has {len(names)} zones"
    assert len(known) > 50, f"{folder} has {len(known)} zones that differ"
    assert len(longest[0]) <= MOST_BYTES, longest
    print(
        f"{folder}: {len(names)} zones, {len(known)} of which differ, {tried} windows; "
        f"the longest text has {len(longest[0])} bytes ({longest[1]})"
    )


def rare_expressions(at_random):
    """Expressions of which few days match, and two that match every 28 years."""
    yield "0 0 29 2 */7"
    yield "0 0 ? 2 tue#5"
    for _ in range(RARE):
        minutes, hours = at_random.choice(["0", "*/20", "59"]), at_random.choice(["2", "0,23", "*/6"])
        dates = at_random.choice(["29", "31", "30-31", "*/30", "1,31", "29,31", "*", "31W", "L-30", "LW", "29,L-28"])
        months = at_random.choice(["2", "2,6", "4", "*", "2-4", "11,12"])
        weekdays = at_random.choice(["*", "*/7", "*/6", "sun", "1-5", "?", "2#5", "*/7,4#5", "6L"])
        yield f"{minutes} {hours} {dates} {months} {weekdays}"


def next_by_days(zone, mask, after, last):
    """The first five instants of a mask after a second and before another one, found day by day."""
    found, day = [], datetime.datetime.fromtimestamp(after, zone).date() - datetime.timedelta(1)
    for number in range((last - after) // 86400 + 3):
        noon = datetime.datetime.combine(day + datetime.timedelta(number), datetime.time(12))
        if not matches_day(mask, noon):
            continue
        begins = int(noon.replace(hour=0, tzinfo=zone).timestamp())
        of_day = [at for at in Window(zone, begins - 3600, begins + 26 * 3600).instants(mask) if at > after * 1000]
        found = sorted({*found, *of_day})
        if len(found) >= 5 or begins > last:
            break
    return [at for at in found if at <= last * 1000][:5]


def try_rare(daemon, scripts):
    at_random, zones = random.Random(1), ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]
    tried = 0
    for expression in rare_expressions(at_random):
        mask, name = daemon.mask(expression), at_random.choice(zones)
        if mask.startswith("!"):
            continue  # no month has that day
        after = FIRST + 60 * at_random.randrange(TEN_YEARS // 120)
        wanted = next_by_days(zoneinfo.ZoneInfo(name), mask, after, UNTIL)
        assert wanted, f"{expression} in {name}"
        asked = [mask, daemon.shifts(SYSTEM / name, SINCE), after * 1000, wanted[-1]]
        found, _, steps = scripts.ask([asked])[0]
        assert found == wanted, f"{expression} in {name} after {after}: {found}, not {wanted}"
        assert steps < MOST_STEPS, f"{expression} in {name} after {after}: {steps} divisions for an instant"
        tried += 1
    assert tried > RARE // 2, tried
    return tried


def try_forms(daemon):
    """zic writes the whole database in both forms."""
    zic = shutil.which("zic", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not zic or not (SYSTEM / "tzdata.zi").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        made = [pathlib.Path(folder, form) for form in ("fat", "slim")]
        for path in made:
            subprocess.run([zic, "-b", path.name, "-d", path, SYSTEM / "tzdata.zi"], check=True)
        for name in zones_of(made[0]):
            one, other = (daemon.shifts(path / name, SINCE) for path in made)
            assert one == other, f"{name}: {one}, and {other}"


def main():
    if not SYSTEM.exists():
        sys.exit(77)
    with Daemon(sys.argv[1]) as daemon, Scripts() as scripts:
        print(f"{try_facts(daemon, scripts)} facts, {try_rare(daemon, scripts)} rare expressions")
        try_forms(daemon)
        for folder in os.environ.get("PATTERND_ZONES", str(SYSTEM)).split(":"):
            try_zones(pathlib.Path(folder), daemon, scripts)


main()
