"""Of all calls: the daemon never ends by itself, and never answers with a fault of its own. Figures of how they went."""


def check(history, findings):
    for ended in history.ended:
        findings.violation("stays up", f"{ended['name']} ended by itself: {ended['said'][-300:]}")
    for call in history.calls:
        if call.status == 500 or call.status in (400, 401, 403, 404, 405, 413, 414, 415, 422) and call.code not in ("not_found",):
            findings.violation("answers", f"{call.what} on {call.on} was answered {call.status} {call.code}", call)
        if call.status == 503 and not call.retry_after:
            findings.violation("answers", f"{call.what} on {call.on}: 503 without Retry-After", call)
    findings.figures["slowest call, ms"] = max((call.gave_up - call.start for call in history.calls), default=0) // 1000
    findings.figures["calls answered with effect none"] = sum(
        1 for call in history.calls if call.effect == "none" and call.status >= 500)
