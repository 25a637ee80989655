"""A counter is at least the number of accepted additions, and at most that number plus the
additions with an unknown outcome. Additions that were retried until an answer came have a known
outcome. An addition that was answered with effect `none` is in neither number, so the check finds
it if it had an effect. No addition counts twice, and none is undone.
"""
from history import answers, by_op


def check(history, findings):
    for name in history.names("counter.final"):
        ops = by_op(history.of("counter.add", on=name))
        check_total(history, findings, name, ops)
        check_values(history, findings, name, ops)


def check_total(history, findings, name, ops):
    final = history.of("counter.final", on=name)[-1]
    value = final.got["counters"].get("n", 0)
    accepted = [tries for tries in ops.values() if any(call.is_ok for call in tries)]
    unknown = [
        tries
        for tries in ops.values()
        if not any(call.is_ok for call in tries) and any(call.is_unknown for call in tries)
    ]
    lost_most = sum(1 for tries in accepted if any(call.is_ok and history.may_be_lost(call) for call in tries))
    if not len(accepted) - lost_most <= value <= len(accepted) + len(unknown):
        findings.violation(
            "counters",
            f"{name} is {value}, with {len(accepted)} accepted, {len(unknown)} unknown, and "
            f"{lost_most} that a failover may have lost",
            final,
        )
    findings.count("additions accepted", len(accepted))
    findings.count("additions unknown", len(unknown))
    findings.count("additions lost by a failover", max(0, len(accepted) - value))


def check_values(history, findings, name, ops):
    """Each addition returns a different value, the same in all its answers. It is above the values
    that were returned before the addition began.
    """
    accepted = []
    for tries in ops.values():
        answered = answers(tries)
        if len({call.got["counters"]["n"] for call in answered}) > 1:
            if not any(history.may_be_lost(call) for call in answered):
                findings.violation("one key, one effect", f"{name}: one key was answered with two values", *tries)
        elif answered:
            accepted.append((answered[0].got["counters"]["n"], tries[0].start, answered[0]))
    seen = {}
    for value, start, call in sorted(accepted, key=lambda a: a[1]):
        other = seen.setdefault(value, call)
        if other is not call and not (history.may_be_lost(call) or history.may_be_lost(other)):
            findings.violation("counters", f"{name}: two additions made it {value}", other, call)
    check_order(history, findings, name, accepted)


def check_order(history, findings, name, accepted):
    """A call that began after another one was answered returns a larger value."""
    answered = sorted(accepted, key=lambda a: a[2].end)
    highest, at = (0, None), 0
    for value, start, call in sorted(accepted, key=lambda a: a[1]):
        while at < len(answered) and answered[at][2].end < start:
            if not history.may_be_lost(answered[at][2]):
                highest = max(highest, (answered[at][0], answered[at][2]), key=lambda h: h[0])
            at += 1
        if value < highest[0]:
            findings.violation("counters", f"{name}: {value} after {highest[0]}", highest[1], call)
