"""All calls: the daemon never ends by itself, exits with 0 after SIGTERM, and never answers with an
internal error. It always answers in time, unless a fault harmed it or the way to it.
"""
import bisect

# The most CPU time of one loop iteration, because health must answer within that time. soak can
# subtract the time that other programs took, and checks 20 ms.
ITERATION_US = 100000
IN_TIME_US = 3000000  # beyond wait_ms: --redis-timeout-ms and the delays of a busy machine


def check(history, findings):
    for complaint in history.complaints:
        findings.violation("stays up", f"{complaint['name']}: {complaint['what']}")
    if history.longest_iteration_us > ITERATION_US:
        findings.violation(
            "no iteration is long",
            f"an iteration of a daemon's loop used the CPU for {history.longest_iteration_us / 1000:.1f} ms",
        )
    findings.figures["most CPU time of a loop iteration, us"] = history.longest_iteration_us
    harmed = [fault for fault in history.faults if fault.name.startswith("daemon") or fault.name.endswith("callers")]
    for call in history.calls:
        check_answer(findings, call)
        sent = call.sent or {}
        allowed_us = IN_TIME_US + max(sent.get("wait_ms", 0), sent.get("wait_result_ms", 0)) * 1000
        if call.gave_up - call.start > allowed_us and not any(
            f.start <= call.gave_up and f.end >= call.start for f in harmed
        ):
            findings.violation(
                "answers in time", f"{call.what} on {call.on} took {(call.gave_up - call.start) / 1000:.0f} ms", call
            )
    findings.figures["seconds in which a failover may lose changes"] = round(
        sum(until - since for since, until, _ in history.loss_windows) / 1e6
    )
    findings.figures["slowest call, ms"] = max((call.gave_up - call.start for call in history.calls), default=0) // 1000
    findings.figures["calls answered with effect none"] = sum(
        1 for call in history.calls if call.effect == "none" and call.status >= 500
    )
    measure_failovers(history, findings)


def measure_failovers(history, findings):
    """Counts the failovers, and reports the longest time without an effect during one. That time is
    not reported of a Cluster, where the other masters continue.
    """
    spans = {(fault.start, fault.end) for fault in history.faults if fault.name.startswith(("master", "failover"))}
    if not spans:
        return
    findings.figures["failovers survived"] = len(spans)
    if history.run["mode"] == "sentinel":
        done = sorted(call.gave_up for call in history.calls if call.effect == "applied")
        findings.figures["longest without an effect in a failover, ms"] = (
            max(longest_pause(done, *span) for span in spans) // 1000
        )


def longest_pause(instants, since, until):
    """The longest pause between two neighbours among the sorted instants and the two ends of the
    span.
    """
    points = [since, *instants[bisect.bisect_left(instants, since) : bisect.bisect_right(instants, until)], until]
    return max(later - earlier for earlier, later in zip(points, points[1:]))


def check_answer(findings, call):
    if call.status == 500 or call.status in (400, 401, 403, 405, 413, 414, 415, 422):
        findings.violation("answers", f"{call.what} on {call.on} was answered {call.status} {call.code}", call)
    if call.status == 503 and not call.retry_after:
        findings.violation("answers", f"{call.what} on {call.on}: 503 without Retry-After", call)
