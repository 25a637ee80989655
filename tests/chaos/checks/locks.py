"""Locks: a lock never has two holders at a time, fences only rise, only the holder releases or
extends, and no waiter is forgotten.

A grant is surely held from the instant when its caller got the answer. It is held until the caller
began to release it, or until the lease expired, counted from the request. Grants are sorted by
fence, and these intervals are compared.
"""
import bisect
import itertools

from history import FOREVER, answers, begun_between, by_op

from . import replays

ROUNDING_US = 2000  # instants are whole milliseconds of Redis's clock
LONGEST_US = 12000000  # the most that a call takes
WAKE_US = 2000000  # an offer to a waiter that has left takes a second
BEFORE_US = 1500000  # how long after a fault its effects may last
REPEATED_US = 60000000  # how long the last holder may repeat its release


class Grant:
    """A lock that was granted, between the instants `asked` and `known`. It may have ended at
    `until` at the earliest.
    """

    def __init__(self, tries, answer):
        self.name, self.token, self.fence = answer.on, answer.got["token"], answer.got["fence"]
        self.asked, self.known = tries[0].start, answer.end
        self.until = self.asked + answer.sent["ttl_ms"] * 1000 - ROUNDING_US
        self.at_latest = self.known + answer.sent["ttl_ms"] * 1000 + ROUNDING_US
        self.calls, self.released, self.followed = [answer], None, None
        self.may_be_released = False  # also by a call without an answer

    def ended_by(self, time):
        """Returns the call that surely ended the grant before `time`, or True if its lease had
        surely expired.
        """
        for call in (self.released, self.followed):
            if call and call.end < time:
                return call
        return time > self.at_latest

    def extended(self, call, begun):
        until = begun + call.sent["ttl_ms"] * 1000 - ROUNDING_US
        if call.is_ok:
            self.until = until
            self.at_latest = max(self.at_latest, call.end + call.sent["ttl_ms"] * 1000 + ROUNDING_US)
            self.calls.append(call)
        elif call.is_unknown:
            self.until, self.at_latest = min(self.until, until), FOREVER

    def end_by_release(self, call):
        if call.effect != "none":
            self.until, self.may_be_released = min(self.until, call.start), True
        if call.is_ok and not self.released:
            self.released = call


class Known:
    """Finds the grants that were known at a given time."""

    def __init__(self, grants):
        by_known = sorted(grants.values(), key=lambda grant: grant.known)
        self.times = [grant.known for grant in by_known]
        self.highest = list(itertools.accumulate(by_known, lambda a, b: max(a, b, key=lambda grant: grant.fence)))

    def highest_before(self, time):
        """The grant with the highest fence that was known before `time`, or None."""
        count = bisect.bisect_left(self.times, time)
        return self.highest[count - 1] if count else None


def check(history, findings):
    for name in history.names("lock.acquire"):
        acquires = history.of("lock.acquire", on=name)
        grants = grants_of(history, by_op(acquires), findings)
        known = Known(grants)
        judge_uses(history, findings, name, grants, known)
        check_unique(findings, grants)
        check_fences_rise(findings, grants, known)
        check_held_once(history, findings, grants)
        check_free_again(history, findings, acquires, grants)
        check_woken(history, findings, acquires, grants)
        findings.count("grants", len(grants))


def grants_of(history, ops, findings):
    """{token: its grant}."""
    grants = {}
    for tries in ops.values():
        answered = answers(tries)
        if len({(call.got["token"], call.got["fence"]) for call in answered}) > 1:
            if not any(history.may_be_lost(call) for call in answered):
                findings.violation("one key, one effect", f"{tries[0].on}: one key got two grants", *tries)
        elif answered:
            grants[answered[0].got["token"]] = Grant(tries, answered[0])
    return grants


def judge_uses(history, findings, name, grants, known):
    calls = history.of("lock.acquire", "lock.extend", "lock.release", on=name)
    repeated, ops = replays.of(calls), by_op(calls)
    for call in calls:
        if call in repeated:
            judge_replay(history, findings, grants, known, call, repeated[call])
        elif call.what != "lock.acquire":
            judge_use(history, findings, grants, known, call, ops[call.op][0].start)


def judge_replay(history, findings, grants, known, call, first):
    grant = grants.get(first.sent["token"] if call.what == "lock.extend" else first.got["token"])
    if not grant:
        return
    later = known.highest_before(call.start)
    if later and later.fence > grant.fence and not any(history.may_be_lost(c) for c in later.calls):
        grant.followed = later.calls[0]
    replays.judge(history, findings, call, grant, ("not_holder",))


def judge_use(history, findings, grants, known, call, begun):
    """An extension or a release by the holder succeeds, and by another caller it does not."""
    grant = grants.get(call.sent["token"])
    if not grant:
        return
    if call.is_ok:
        later = known.highest_before(call.start)
        if (
            later
            and later.fence > grant.fence
            and not is_repeated_release(history, grant, call)
            and not any(history.may_be_lost(c) for c in (*grant.calls, *later.calls))
        ):
            findings.violation(
                "only the holder",
                f"{call.on}: {call.what} by fence {grant.fence} succeeded, though fence "
                f"{later.fence} had been granted",
                call,
                later.calls[0],
            )
        why = succeeds_without_a_hold(history, grant, call)
        if why:
            findings.violation("only the holder", f"{call.on}: {call.what} by fence {grant.fence} succeeded {why}", call)
    elif call.code == "not_holder" and was_released(history, grant, call):
        judge_repeated_release(history, findings, grant, call)
    elif call.code == "not_holder" and replays.told_over(call) < grant.until:
        if not any(history.may_be_lost(c) for c in (*grant.calls, call)):
            findings.violation(
                "held for its time", f"{call.on}: fence {grant.fence} was lost before its time", grant.calls[0], call
            )
        else:
            findings.count("locks lost by a failover")
    if call.what == "lock.extend":
        grant.extended(call, begun)
    else:
        grant.end_by_release(call)


def is_repeated_release(history, grant, call):
    """Whether an earlier release by this token may have had its effect, so that the lock may have
    another holder now.
    """
    return call.what == "lock.release" and any(
        c is not call and c.sent["token"] == grant.token and c.effect != "none" and c.start < call.start
        for c in history.of("lock.release", on=call.on)
    )


def was_released(history, grant, call):
    """Whether an answer that came before the call began confirmed the release."""
    return grant.released and grant.released.end < call.start and not history.may_be_lost(grant.released)


def succeeds_without_a_hold(history, grant, call):
    """Returns why a call should not have succeeded, or None if it may succeed. The caller's own
    release may be repeated for a minute, and the answer has `holds` 0. An expired lock cannot be
    released.
    """
    if was_released(history, grant, call):
        is_repeated = call.what == "lock.release" and call.got.get("holds") == 0
        return None if is_repeated and call.start - grant.released.end <= REPEATED_US else "after its release"
    if call.what == "lock.release" and not grant.may_be_released and call.start > grant.at_latest:
        return None if history.may_be_lost(call) else "after its time"
    return None


def judge_repeated_release(history, findings, grant, call):
    """A repeated release was refused. So the minute must have passed, or another token must have
    released the lock since.
    """
    is_late = call.end - grant.released.start > REPEATED_US
    is_forgotten = any(
        c.effect != "none" and c.sent["token"] != grant.token and c.start < call.end and c.end > grant.released.start
        for c in history.of("lock.release", on=call.on)
    )
    findings.count("repeated releases that were refused")
    if call.what == "lock.release" and not (is_late or is_forgotten or history.may_be_lost(call)):
        findings.violation(
            "a release may be repeated",
            f"{call.on}: fence {grant.fence} was released, and its release repeated was refused",
            grant.released,
            call,
        )


def check_unique(findings, grants):
    seen = {}
    for grant in grants.values():
        other = seen.setdefault(grant.fence, grant)
        if other is not grant:
            findings.violation(
                "fences rise", f"{grant.name}: fence {grant.fence} was given out twice", grant.calls[0], other.calls[0]
            )


def check_fences_rise(findings, grants, known):
    """In every mode, a lock that was requested after another grant was known has a higher fence."""
    for grant in grants.values():
        before = known.highest_before(grant.asked)
        if before and grant.fence <= before.fence:
            findings.violation(
                "fences rise",
                f"{grant.name}: fence {grant.fence} after {before.fence}",
                before.calls[0],
                grant.calls[0],
            )


def check_held_once(history, findings, grants):
    last = None  # of the grants with lower fences, the one with the latest end
    for grant in sorted(grants.values(), key=lambda g: g.fence):
        if last and last.until > grant.known:
            if any(history.may_be_lost(call) for call in (*last.calls, *grant.calls)):
                findings.count("locks held twice by a failover")
            else:
                findings.violation(
                    "held once",
                    f"{grant.name}: fence {grant.fence} was known {(last.until - grant.known) / 1000:.0f} ms "
                    f"before fence {last.fence} could have ended",
                    last.calls[0],
                    grant.calls[0],
                )
        if not last or grant.until > last.until:
            last = grant


def check_free_again(history, findings, acquires, grants):
    """A refusal names the holder of the lock. It never names a holder whose lease has expired, or
    that has released the lock.
    """
    by_fence = {grant.fence: grant for grant in grants.values()}
    for call in acquires:
        holders = call.got.get("holders") if call.code == "lock_held" else None
        holder = by_fence.get(holders[0]["fence"]) if holders else None
        if holder and call.start > holder.at_latest:
            findings.violation(
                "free after its time",
                f"{call.on}: fence {holder.fence} holds it still, "
                f"{(call.start - holder.at_latest) / 1000:.0f} ms after its end",
                holder.calls[0],
                call,
            )
        elif (
            holder and holder.released and call.start > holder.released.end and not history.may_be_lost(holder.released)
        ):
            findings.violation(
                "free after its release", f"{call.on}: fence {holder.fence} holds it still", holder.released, call
            )


def check_woken(history, findings, acquires, grants):
    """While no fault lasts, a released lock goes to a waiter."""
    fences = sorted((grant.fence, grant.known) for grant in grants.values())
    for grant in grants.values():
        release = grant.released
        if not release or not history.is_quiet(release.start - BEFORE_US, release.end + WAKE_US):
            continue
        deadline = release.end + WAKE_US
        around = begun_between(acquires, release.start - LONGEST_US, deadline)
        waiting = [c for c in around if c.start < release.start - 100000 and c.gave_up > release.end]
        if not waiting or any(c.is_unknown and waits_until(c) > release.start for c in around):
            continue  # a waiter that has left may have been served
        findings.count("wake-ups")
        later = fences[bisect.bisect_right(fences, (grant.fence, FOREVER)) :]
        served = min((known for _, known in later[:100]), default=FOREVER)
        patient = [c for c in waiting if c.gave_up > deadline and waits_until(c) > deadline]
        if served > deadline and patient:
            findings.violation(
                "waiters are woken",
                f"{grant.name}: released, but no waiter had it {WAKE_US // 1000} ms later",
                release,
                patient[0],
            )


def waits_until(acquire):
    return acquire.start + acquire.sent["wait_ms"] * 1000
