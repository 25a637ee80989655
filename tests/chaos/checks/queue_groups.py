"""Groups of queues: messages of a strict group are delivered one at a time, in the order of
sending. No more messages are in flight than `concurrency` allows, and no more are delivered than a
rate or a policy admits. Groups take turns. queues.py checks that no message is forgotten.
"""
from types import SimpleNamespace

from history import Findings
from workloads import queue_groups as play

from . import queues, ratelimit

TURNS_MOST = 2  # messages of another group, before a message that is alone in its group


def check(history, findings):
    for name in sorted(play.OWN.keys() & set(history.names("queue.send"))):
        messages, deliveries, _ = queues.read(history, Findings(), name)
        found = [(m, d) for m in messages.values() for d in m.deliveries if not loses(history, m, d)]
        found.sort(key=lambda pair: pair[1].known)
        findings.count("deliveries of groups", len(found))
        if name == play.STRICT:
            for group, some in by_group(found).items():
                check_most(findings, "strict groups run one at a time", f"{name}, {group}", some, 1)
            check_order(history, findings, name, messages)
        elif name == play.FAIR:
            for group, some in by_group(found).items():
                check_most(findings, "concurrency holds", f"{name}, {group}", some, play.GROUP_CONCURRENCY)
            check_turns(history, findings, name, messages, found)
        elif name == play.LIMITED:
            check_most(findings, "concurrency holds", name, [d for _, d in found], play.CONCURRENCY)
            check_rate(findings, name, found, play.RATE | {"algorithm": "gcra"}, [])
        else:
            takes = [c for c in history.of("group.take", on=name) if c.is_ok and not history.may_be_lost(c)]
            # The bookkeeper receives after it has removed the policy.
            paid = [(m, d) for m, d in found if not d.call.worker.startswith("bookkeeper")]
            check_rate(findings, name, paid, play.BUDGET, takes)


def loses(history, message, delivery):
    """Whether a failover may have lost a call that concerns the message or its delivery."""
    return any(history.may_be_lost(call) for call in (*delivery.calls, *message.tries))


def by_group(found):
    groups = {}
    for message, delivery in found:
        groups.setdefault(message.group, []).append(delivery)
    return groups


def check_most(findings, promise, where, deliveries, most):
    """At most `most` deliveries were surely current at one time."""
    current = []
    for delivery in sorted(deliveries, key=lambda d: d.known):
        current = [d for d in current if d.until > delivery.known]
        if delivery.until > delivery.known:
            current.append(delivery)
        if len(current) > most:
            calls = [d.call for d in current]
            findings.violation(promise, f"{where}: {len(current)} were in flight at once, of {most}", *calls)
            return


def check_order(history, findings, name, messages):
    """Messages of a group that were sent one after another, without a delay, are delivered in that
    order.
    """
    groups = {}
    for message in messages.values():
        if message.accepted and message.is_plain and message.deliveries:
            groups.setdefault(message.group, []).append(message)
    for group, some in groups.items():
        some.sort(key=lambda m: m.sent.start)
        for i, earlier in enumerate(some):
            first = min(earlier.deliveries, key=lambda d: d.known)
            if first.receives > 1 or loses(history, earlier, first):
                continue  # the answer with its first delivery was lost
            for later in some[i + 1 : i + 20]:
                second = min(later.deliveries, key=lambda d: d.known)
                was_before = earlier.accepted.end < later.sent.start
                if was_before and second.known < first.asked and not loses(history, later, second):
                    findings.violation(
                        "strict groups keep the order",
                        f"{name}, {group}: {later.number} was delivered before {earlier.number}",
                        first.call,
                        second.call,
                    )
                    return
            findings.count("messages in order")


def check_rate(findings, name, found, limit, takes):
    spent = [SimpleNamespace(start=d.asked, end=d.known, op=d.call.op, sent=limit) for _, d in found]
    spent += [SimpleNamespace(start=call.start, end=call.end, op=call.op, sent=limit) for call in takes]
    ratelimit.check_rate(findings, name, sorted(spent, key=lambda call: call.start))


def check_turns(history, findings, name, messages, found):
    """While no fault lasts, a message that is alone in its group waits for one round of the other
    groups at most.
    """
    for message in messages.values():
        first = min(message.deliveries, key=lambda d: d.known, default=None)
        if not message.accepted or not first or not message.group.startswith("lone") or first.receives > 1:
            continue
        since = message.accepted.end
        if not history.is_quiet(message.sent.start - queues.BEFORE_US, first.known):
            continue
        findings.count("turns")
        between = [(m, d) for m, d in found if d.asked > since and d.known < first.asked]
        for group, some in by_group(between).items():
            if len(some) > TURNS_MOST:
                findings.violation(
                    "groups take turns",
                    f"{name}: {message.number} waited for {len(some)} messages of {group}",
                    message.accepted,
                    first.call,
                )
                return
