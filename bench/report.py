"""Writes the table of a run: as Markdown for people, as JSON for programs."""
import dataclasses
import json
import statistics
import textwrap

from contest import Contest
from machine import stated


@dataclasses.dataclass
class Results:
    machine: dict
    contests: list = dataclasses.field(default_factory=list)
    figures: list = dataclasses.field(default_factory=list)  # (what, measured)
    goals: list = dataclasses.field(default_factory=list)
    failures: list = dataclasses.field(default_factory=list)  # names of sections that could not be measured
    seconds: float = 0.0


HALF_US = 500000  # of a second
COLUMNS = (
    ("rate", "{unit}s per second", "{:,.0f}"),
    ("p50_ms", "p50 ms", "{:.2f}"),
    ("p99_ms", "p99 ms", "{:.2f}"),
    ("service_us", "CPU of the service, µs", "{:.1f}"),
    ("redis_us", "CPU of Redis, µs", "{:.1f}"),
    ("mib", "memory, MiB", "{:.1f}"),
    ("generator_cpu", "CPU of the generator, cores", "{:.2f}"),
)
FORMS = {"rate": "{:,.0f}", "p50_ms": "{:.3f}", "service_us": "{:.1f}"}
BEGIN, END = "<!-- bench: written by bench/run --quote -->", "<!-- bench: end -->"


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def table(head, rows):
    return "\n" + row(head) + row(["---"] * len(head)) + "".join(row(cells) for cells in rows)


def format_cell(value, form):
    return "" if value is None else form.format(value)


def contest_markdown(contest):
    head = [""] + [name.format(unit=contest.unit) for _, name, _ in COLUMNS]
    cells = lambda name: [format_cell(contest.median(name, key), form) for key, _, form in COLUMNS]
    rows = [[name + (f" ({note})" if note else "")] + cells(name) for name, note in contest.described()]
    notes = contest.notes + [f"Other programs of the machine used {contest.others_cpu:.2f} cores during the run."]
    return f"\n## {contest.title}\n" + table(head, rows) + "\n" + " ".join(notes) + "\n"


def goal_row(goal):
    bound = f"at most {goal.at_most:g}" if goal.at_most is not None else f"at least {goal.at_least:g}"
    if goal.heading_for is not None:
        bound += f", heading for {goal.heading_for:g}"
    if not goal.values:
        return [goal.what, bound, "not measured", ""]
    measured = f"{goal.measured():.3g}{goal.unit}"
    if len(goal.values) > 1:
        measured += f" ({min(goal.values):.3g} to {max(goal.values):.3g})"
    return [goal.what, bound, measured, "yes" if goal.met() else "**no**"]


def versions(machine):
    return "\n## Versions\n" + table(["program", "version"], machine["versions"].items())


def markdown(results):
    machine = results.machine
    text = (
        f"# patternd beside its peers\n\n{machine['date']}, {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gib']} GiB, {machine['system']}, Linux {machine['kernel']}, "
        f"load {machine['load_before']:.2f} before; {results.seconds:.0f} s in all.\n\n"
        "Everything ran on loopback, the generator and Redis on the same cores, with 64 clients unless a row gives another "
        "number. The contestants took turns in several rounds; each figure is the median of the rounds. CPU is per "
        "operation; the CPU of Redis is what its process used during the round. The generator is wrk. Where a request "
        "depends on an answer, wrk's Lua adds to the CPU of the generator. A Node.js client is its own generator, and its "
        "CPU counts as the service's.\n"
    )
    if results.failures:
        text += f"\nCould not be measured: {', '.join(results.failures)}.\n"
    if results.goals:
        text += "\n## Goals\n" + table(["what", "goal", "measured", "met"], map(goal_row, results.goals))
    if results.figures:
        text += "\n## Footprint\n" + table(["what", "measured"], results.figures)
    return text + "".join(map(contest_markdown, results.contests)) + versions(machine)


def page(results):
    """The part of a run that docs/benchmarks.md shows."""
    machine = results.machine
    return (
        f"{stated(machine)}, {machine['memory_gib']} GiB, {machine['system']}, Linux {machine['kernel']}. Generator, services and Redis share the cores.\n"
        + "".join(map(contest_markdown, results.contests))
        + versions(machine)
    )


def quoted_row(contest, what, key, ours, theirs):
    """Both medians, and the median of the ratios of all rounds."""
    ratio = statistics.median(contest.ratios(key, ours, theirs))
    figures = [FORMS[key].format(contest.median(name, key)) for name in (ours, theirs)]
    return [what, figures[0], f"{figures[1]} ({theirs.split(',')[0]})", f"{ratio:.2f}"]


def quotation(results, rows):
    """README's table, a row for each of `rows`: (what, contest's title, figure, ours, theirs)."""
    machine, contests = results.machine, {contest.title: contest for contest in results.contests}
    cells = [quoted_row(contests[title], what, key, *names) for what, title, key, *names in rows]
    footprint = "; ".join(f"{what}: {measured}" for what, measured in results.figures)
    footprint = footprint[0].upper() + footprint[1:] + "."
    return (
        f"{stated(machine)}, 64 clients unless a row has another number.\n"
        + table(["what", "patternd", "peer", "ratio"], cells)
        + "\n"
        + textwrap.fill(footprint, 100)
        + "\n"
    )


def carried(results, instructions, rows):
    """The table of what one Redis carries. A row is (what, rows of bench/instructions.json, title
    of a contest or None, its contestant). Where no contest measures an operation, its CPU of Redis
    is computed from its instructions, at the median cost of the measured operations.
    """
    contests, measured, costs = {contest.title: contest for contest in results.contests}, {}, []
    for what, counts, title, name in rows:
        if title:
            measured[what] = [contests[title].median(name, key) for key in ("service_us", "redis_us")]
            costs += [measured[what][1] / sum(map(instructions.get, counts))] if counts else []
    cells = []
    for what, counts, _, _ in rows:
        count = sum(map(instructions.get, counts))
        service_us, redis_us = measured.get(what) or (None, count * statistics.median(costs))
        cells.append(
            [what, f"{count / 1000:.0f}" if count else "", format_cell(service_us, "{:.0f}")]
            + [("" if what in measured else "~") + f"{redis_us:.0f}", f"{float(f'{HALF_US / redis_us:.2g}'):,.0f}"]
        )
    machine = results.machine
    head = ["what", "instructions of Redis, thousands", "CPU of the daemon, µs", "CPU of Redis, µs"]
    return (
        f"{stated(machine)}, 64 clients.\n" + table(head + ["per second, with half of a core"], cells)
    )


def quote(path, text):
    """Writes the text between the marks."""
    before, rest = path.read_text().split(BEGIN)
    path.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


def from_json(text):
    """Reads the output of as_json, without its goals."""
    read = json.loads(text)
    contests = [Contest(contestants=[], **contest) for contest in read["contests"]]  # the contestants are in `names`
    return Results(read["machine"], contests, list(read["figures"].items()), [], read["failures"], read["seconds"])


def as_json(results):
    return (
        json.dumps(
            {
                "machine": results.machine,
                "seconds": results.seconds,
                "figures": dict(results.figures),
                "failures": results.failures,
                "contests": [
                    {
                        "title": c.title,
                        "unit": c.unit,
                        "others_cpu": c.others_cpu,
                        "notes": c.notes,
                        "names": c.described(),
                        "rounds": c.rounds,
                    }
                    for c in results.contests
                ],
                "goals": [dataclasses.asdict(g) | {"measured": g.measured(), "met": g.met()} for g in results.goals],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
