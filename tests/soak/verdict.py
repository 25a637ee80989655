"""Judges the records of a soak. All functions depend on the records alone, so the same records get
the same verdict.
"""
import collections
import statistics

RECOVERY_S = 2  # after the end of a fault
HEALTH_MS = 100
STALL_MS = 20
GROWTH, GROWTH_BYTES = 0.10, 2 * 1024 * 1024
WARM_UP = 0.2  # of the time
CALLS_LEAST = 0.8  # of the calls that the rate implies


def memory(samples, began, seconds):
    """Compares the medians of the first and the last quarter after the warm-up."""
    resident = [s["resident"] for s in samples if s["at"] >= began + WARM_UP * seconds]
    quarter = max(1, len(resident) // 4)
    first, last = (statistics.median(part) for part in (resident[:quarter], resident[-quarter:]))
    return {
        "first": int(first),
        "last": int(last),
        "max": max(resident),
        "grew": int(last - first),
        "is_flat": last - first <= min(GROWTH * first, GROWTH_BYTES),
    }


def is_explained(error, faults):
    return error["status"] in (503, 504) and any(
        fault["explains"] and error["ended"] >= fault["start"] and error["sent"] <= fault["end"] + RECOVERY_S
        for fault in faults
    )


def errors(failed, faults):
    kinds, unexplained = collections.Counter(), []
    for error in failed:
        kinds[f"{error['status']} {error['code']}"] += 1
        if not is_explained(error, faults):
            unexplained.append(error)
    return {
        "by_kind": dict(kinds),
        "explained": len(failed) - len(unexplained),
        "unexplained": len(unexplained),
        "first_unexplained": unexplained[:20],
    }


def health(probes):
    """A probe is a miss if it exceeds the bound even without the time that the machine took. That
    time is measured by the control server, or as the time in which the daemon had no processor.
    """

    def own_ms(probe):
        return probe["ms"] - max(probe["control_ms"], probe["kept_waiting_ms"])

    misses = [probe for probe in probes if not probe["ok"] or own_ms(probe) > HEALTH_MS]
    return {
        "probes": len(probes),
        "over_bound": sum(probe["ms"] > HEALTH_MS for probe in probes),
        "misses": len(misses),
        "median_ms": round(statistics.median(probe["ms"] for probe in probes), 1),
        "slowest_ms": round(max(probe["ms"] for probe in probes), 1),
        "slowest_control_ms": round(max(probe["control_ms"] for probe in probes), 1),
        "slowest_own_ms": round(max(own_ms(probe) for probe in probes), 1),
        "first_misses": misses[:10],
    }


def iteration_ms(samples, i):
    """The mean time of the long loop iterations that ended between samples i - 1 and i. It leaves
    out the time in which other programs and the host had the processors.
    """
    after, before = samples[i], samples[i - 1]
    stalls, took_s = after["stalls"] - before["stalls"], after["stall_s"] - before["stall_s"]
    since = next((s for s in samples[i - 1 :: -1] if s["at"] <= before["at"] - took_s), samples[0])
    return (took_s - (after["taken_s"] - since["taken_s"])) / stalls * 1000


def loop(samples):
    own = [iteration_ms(samples, i) for i in range(1, len(samples)) if samples[i]["stalls"] > samples[i - 1]["stalls"]]
    last = samples[-1]
    return {
        "over_20_ms": last["stalls"] - samples[0]["stalls"],
        "of_its_own": sum(ms > STALL_MS for ms in own),
        "longest_own_ms": round(max([0, *own]), 1),
        "longest_ms": round(last["longest_s"] * 1000, 1),
        "longest_cpu_ms": round(last["longest_cpu_s"] * 1000, 1),
        "taken_s": round(last["taken_s"] - samples[0]["taken_s"], 1),
    }


def broken(summary):
    """The complaints: one text for each bound that does not hold."""
    resident, descriptors, seen, iterations = (summary[key] for key in ("resident", "descriptors", "health", "loop"))
    calls, planned = sum(summary["calls"].values()), summary["rate"] * summary["seconds"]
    rules = [
        (resident["is_flat"], f"resident memory grew by {resident['grew']} bytes"),
        (
            descriptors["before"] == descriptors["after"],
            f"descriptors: {descriptors['before']} before, {descriptors['after']} after",
        ),
        (summary["errors"]["unexplained"] == 0, f"{summary['errors']['unexplained']} errors that no fault explains"),
        (seen["misses"] == 0, f"{seen['misses']} health probes over {HEALTH_MS} ms"),
        (iterations["of_its_own"] == 0, f"loop iterations took up to {iterations['longest_own_ms']} ms"),
        (calls >= CALLS_LEAST * planned, f"only {calls} calls of {planned:.0f}"),
        (sum(summary["faults"].values()) >= summary["seconds"] // 20, "too few faults"),
        (not summary["complaints"], f"complaints: {summary['complaints']}"),
    ]
    return [why for holds, why in rules if not holds]
