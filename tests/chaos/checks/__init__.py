"""The verdict on a history: each check is a function that reads the history alone, and adds its
findings.
"""
from collections import Counter

from history import Findings
from promises import STATED

from . import answers, counters, floor, locks, names, queue_groups, queues, ratelimit, results, sales, semaphores

ALL = (answers, locks, semaphores, queues, queue_groups, results, ratelimit, sales, counters, names, floor)


def judge(history):
    findings = Findings()
    for check in ALL:
        check.check(history, findings)
    return {
        **{name: history.run[name] for name in ("mode", "seed", "seconds", "beside")},
        "stated": STATED[history.run["mode"]],
        "calls": dict(sorted(Counter(call.what for call in history.calls).items())),
        "effects": dict(sorted(Counter(call.effect for call in history.calls).items())),
        "faults": dict(sorted(Counter(fault.name for fault in history.faults).items())),
        "figures": dict(sorted(findings.figures.items())),
        "violations": sorted(findings.violations, key=lambda violation: violation["at_us"]),
    }


def as_text(summary):
    """The summary as text."""

    def line(of):
        return ", ".join(f"{name} {count}" for name, count in of.items())

    beside = f", beside {summary['beside'][:12]}" if summary["beside"] else ""
    lines = [
        f"{summary['mode']}, seed {summary['seed']}, {summary['seconds']:g} s{beside}: {sum(summary['calls'].values())} calls, "
        f"{sum(summary['faults'].values())} faults, {len(summary['violations'])} violations",
        "  calls: " + line(summary["calls"]),
        "  effects: " + line(summary["effects"]),
        "  faults: " + line(summary["faults"]),
        "  figures: " + line(summary["figures"]),
    ]
    for violation in summary["violations"][:20]:
        lines.append(
            f"  VIOLATION at {violation['at_us'] / 1e6:.3f} s, {violation['promise']}: {violation['text']} "
            f"(operations {', '.join(map(str, violation['ops'])) or '-'})"
        )
    if summary["violations"]:
        lines.append(
            f"  the same again: make chaos SECONDS={summary['seconds']:g} SEED={summary['seed']} MODE={summary['mode']}"
            + (f" BESIDE={summary['beside']}" if summary["beside"] else "")
        )
    return "\n".join(lines)
