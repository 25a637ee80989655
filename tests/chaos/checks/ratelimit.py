"""Rate limits: no stretch of time admits more calls than promised, and a caller that waits for
retry_after_ms is admitted.

A call was surely counted within a stretch of time when it began and ended there.
"""
import bisect
import math

ROUNDING_US = 2000
LOOK_US = 5000000  # over which stretches of time a leaky bucket is checked


def check(history, findings):
    for name in history.names("limit.take"):
        takes = history.of("limit.take", on=name)
        allowed = [call for call in takes if call.is_ok and call.got["allowed"] and not history.may_be_lost(call)]
        check_rate(findings, name, allowed)
        findings.count("let through", len(allowed))
    for call in history.all_of("limit.take") + history.all_of("limit.lone"):
        if call.status == 429:
            check_retry_after(findings, call)
    waited = [call for call in history.all_of("limit.lone") if call.sent["waited"]]
    findings.count("waited as Retry-After asks", len(waited))
    for call in waited:
        if call.status == 429 and history.may_be_lost(call):
            findings.count("waited too short by a failover")
        elif call.status == 429:
            findings.violation("Retry-After is honest", f"{call.on}: refused after waiting for retry_after_ms", call)


def most_within(limit, us):
    """The most calls that a limit admits in any stretch of `us` microseconds."""
    if limit["algorithm"] == "gcra":
        return limit["burst"] + math.floor(limit["limit"] * (us + ROUNDING_US) / (limit["window_ms"] * 1000))
    if limit["algorithm"] == "sliding_window":
        return limit["limit"]
    return 2 * limit["limit"]  # a window may end within it, and the next begin


def check_rate(findings, name, allowed):
    if not allowed:
        return
    limit = allowed[0].sent
    window_us = limit["window_ms"] * 1000 - ROUNDING_US
    is_gcra = limit["algorithm"] == "gcra"
    for i, first in enumerate(allowed):
        ends = []
        for call in allowed[i:]:
            if call.start > first.start + (LOOK_US if is_gcra else window_us):
                break
            if is_gcra or call.end < first.start + window_us:
                bisect.insort(ends, call.end)
        for count, end in enumerate(ends, 1):
            if count > most_within(limit, end - first.start):
                findings.violation(
                    "limits hold", f"{name}: {count} were let through in {(end - first.start) / 1000:.0f} ms", first
                )
                return


def check_retry_after(findings, call):
    """Retry-After is the body's retry_after_ms, rounded up to whole seconds."""
    seconds = math.ceil(call.got["retry_after_ms"] / 1000)
    if call.got["retry_after_ms"] < 0 or call.retry_after != max(1, seconds):
        findings.violation(
            "Retry-After is honest",
            f"{call.on}: Retry-After {call.retry_after}, and {call.got['retry_after_ms']} ms",
            call,
        )
