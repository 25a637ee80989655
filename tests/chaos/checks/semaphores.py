"""Semaphores: never more permits than the limit, each for its time.

A permit surely lasts from the instant when its caller got the answer. It lasts until the caller
began to release it, or until the lease expired, counted from the request.
"""
from history import answers, by_op

from . import replays
from .held import never_more

ROUNDING_US = 2000


class Permit:
    quantity = 1

    def __init__(self, tries, answer):
        self.known, self.calls = answer.end, list(tries)
        self.until = tries[0].start + answer.sent["ttl_ms"] * 1000 - ROUNDING_US
        self.at_latest, self.released = answer.end + answer.sent["ttl_ms"] * 1000 + ROUNDING_US, None

    def ended_by(self, time):
        """Returns the call that surely ended the permit before `time`, or True if its lease had
        surely expired.
        """
        return self.released if self.released and self.released.end < time else time > self.at_latest

    def used(self, call, begun):
        """Notes a call that extended or released the permit."""
        self.calls.append(call)
        if call.effect == "none":
            return
        if call.what == "semaphore.extend":
            until = begun + call.sent["ttl_ms"] * 1000 - ROUNDING_US
            self.until = until if call.is_ok else min(self.until, until)
            self.at_latest = max(self.at_latest, call.end + call.sent["ttl_ms"] * 1000 + ROUNDING_US)
        else:
            self.until = min(self.until, call.start)
            self.released = self.released or (call if call.is_ok else None)


def check(history, findings):
    for name in history.names("semaphore.acquire"):
        acquires = history.of("semaphore.acquire", on=name)
        permits = read_permits(history, findings, name, acquires)
        judge_uses(history, findings, name, permits)
        sure = [permit for permit in permits.values() if not any(history.may_be_lost(call) for call in permit.calls)]
        never_more(findings, "limits hold", f"permits of {name}", acquires[0].sent["limit"], sure)
        findings.count("permits", len(permits))


def read_permits(history, findings, name, acquires):
    """{permit: its Permit}."""
    permits = {}
    for tries in by_op(acquires).values():
        answered = answers(tries)
        if len({call.got["permit"] for call in answered}) > 1 and not any(
            history.may_be_lost(call) for call in answered
        ):
            findings.violation("one key, one effect", f"{name}: one key got two permits", *tries)
        elif answered:
            permits[answered[0].got["permit"]] = Permit(tries, answered[0])
    return permits


def judge_uses(history, findings, name, permits):
    calls = history.of("semaphore.acquire", "semaphore.extend", "semaphore.release", on=name)
    repeated, ops = replays.of(calls), by_op(calls)
    for call in calls:
        first = repeated.get(call)
        permit = permits.get(
            first.got["permit"] if first and call.what == "semaphore.acquire" else call.sent.get("permit")
        )
        if permit and first:
            replays.judge(history, findings, call, permit, ("permit_expired",))
        elif permit:
            judge_use(history, findings, permit, call, ops[call.op][0].start)


def judge_use(history, findings, permit, call, begun):
    if (
        call.code == "permit_expired"
        and replays.told_over(call) < permit.until
        and not any(history.may_be_lost(c) for c in (*permit.calls, call))
    ):
        findings.violation("held for its time", f"{call.on}: a permit was gone before its time", permit.calls[0], call)
    permit.used(call, begun)
