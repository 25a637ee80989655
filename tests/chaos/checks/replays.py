"""Requests that were repeated with their Idempotency-Key, through any daemon. A repeated request is
answered as the first one was, or refused as docs/retries.md states. A grant that has ended is not
reported as held: the refusal then has the effect `applied`.
"""
from history import answers, by_op


def of(calls):
    """{repeated call: the first answer to its operation, if that came before the call began}."""
    found = {}
    for tries in by_op(calls).values():
        answered = answers(tries)
        found.update({call: answered[0] for call in tries if answered and call.start > answered[0].end})
    return found


def told_over(call):
    """An answer that reports the end of a grant is right if the grant ends before this instant.
    When a reply repeats an earlier one, the daemon counts all the time since its request as time
    of the grant.
    """
    return call.end + (call.end - call.start if call.effect == "applied" else 0)


def judge(history, findings, call, grant, refusals):
    """Judges a repeated call. `grant` has `calls`, `until` (until when it surely lasts) and
    `ended_by(time)` (the call that ended it before `time`, or True if it expired).
    """
    findings.count("repeated requests")
    ended = grant.ended_by(call.start)
    counted = (*grant.calls, call) if isinstance(ended, bool) else (*grant.calls, call, ended)
    if any(history.may_be_lost(c) for c in counted):
        return
    if call.is_ok and ended:
        findings.violation(
            "an ended grant is not reported",
            f"{call.on}: {call.what} was repeated and answered {call.status}, though its "
            f"grant {'was out of time' if ended is True else 'had ended by ' + ended.what}",
            grant.calls[0],
            call,
        )
    elif call.code in refusals and call.effect == "applied":
        findings.count("repeated requests whose grant had ended")
        if told_over(call) < grant.until:
            findings.violation(
                "held for its time",
                f"{call.on}: {call.what} was repeated and got {call.code}, though its grant lasted",
                grant.calls[0],
                call,
            )
    elif not call.is_ok and call.status and call.status < 500 and call.code != "request_in_progress":
        findings.violation(
            "one key, one effect",
            f"{call.on}: {call.what} was granted, and repeated it was refused with {call.code}",
            grant.calls[0],
            call,
        )
