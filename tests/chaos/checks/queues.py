"""Queues: an accepted message is delivered. An acknowledged or cancelled message is not delivered
again. No message is delivered early, or to two workers at once. Waiters are woken. Each message has
its own number, and at the end of the run every queue was emptied.

A delivery surely belongs to its worker from the instant when the worker got the answer. It ends
when the worker began to end it, or when its visibility ended, counted from the request. Duplicates
are counted. They are allowed after a delivery that ended without an acknowledgement, as
at-least-once delivery implies.
"""
import copy

from history import FOREVER, answers, begun_between, by_op

from . import replays

ROUNDING_US = 2000
LONGEST_US = 12000000  # the most that a call takes
WAKE_US = 1000000
BEFORE_US = 1500000
STATES = ("ready", "blocked", "delayed", "in_flight", "dead")


class Message:
    """The message that was sent under one number, and its deliveries."""

    def __init__(self, tries):
        self.tries, self.number, self.sent = tries, tries[0].sent["body"], tries[0]
        self.group = self.sent.sent.get("group")
        self.accepted = next(iter(answers(tries)), None)
        self.is_possible = any(call.effect != "none" for call in tries)
        self.due = tries[0].start + tries[0].sent["delay_ms"] * 1000
        self.deliveries, self.acknowledged = [], None

        # The message is not delayed, and only an acknowledgement ends it.
        self.is_plain = not self.sent.sent["delay_ms"] and "ttl_ms" not in self.sent.sent
        self.may_be_done = "ttl_ms" in self.sent.sent
        self.may_count_again = False  # a rejection that does not count lowers its receives

    def may_be_removed(self, call):
        """Notes a cancellation or a purge that may have removed the message."""
        if call.effect != "none" and call.gave_up >= self.sent.start:
            self.may_be_done, self.is_plain = True, False
            for delivery in self.deliveries:
                if delivery.asked < call.gave_up:
                    delivery.may_be_removed(call)

    def ids(self):
        answered = {call.got["messages"][0]["id"] for call in self.tries if call.is_ok}
        return answered | {delivery.id for delivery in self.deliveries}


class Delivery:
    def __init__(self, tries, answer, got):
        self.call, self.asked, self.known = answer, tries[0].start, answer.end
        self.id, self.receipt, self.receives = got["id"], got["receipt"], got["receives"]
        self.until = self.asked + answer.sent["visibility_ms"] * 1000 - ROUNDING_US
        self.calls, self.finished, self.removals = list(tries), None, []
        self.at_latest = self.known + answer.sent["visibility_ms"] * 1000 + ROUNDING_US

    def may_be_removed(self, call):
        self.removals.append(call)
        self.until = min(self.until, call.start)

    def ended_by(self, time):
        """Returns the call that surely ended the delivery before `time`, or True if its visibility
        had surely ended.
        """
        return self.finished if self.finished and self.finished.end < time else time > self.at_latest

    def used(self, call, begun):
        """Notes a call that extended, rejected, acknowledged or cancelled the delivery."""
        self.calls.append(call)
        if call.effect == "none":
            return
        if call.what == "queue.extend":
            until = begun + call.sent["visibility_ms"] * 1000 - ROUNDING_US
            later = [removal.start for removal in self.removals if removal.gave_up > call.start]
            self.until = min([until, *later]) if call.is_ok else min(self.until, until)
            self.at_latest = max(self.at_latest, call.end + call.sent["visibility_ms"] * 1000 + ROUNDING_US)
        else:
            self.until = min(self.until, call.start)
            self.finished = self.finished or (call if call.is_ok else None)


def check(history, findings):
    for name in history.names("queue.send"):
        messages, _, receives = read(history, findings, name)
        for message in messages.values():
            check_message(history, findings, name, message)
            check_deliveries(history, findings, name, message)
            if not message.group:  # a blocked message wakes no waiter
                check_woken(history, findings, name, message, receives)
        final = history.of("queue.final", on=name)
        if not final or any(final[-1].got.get(state) for state in STATES):
            findings.violation("books", f"{name} was not emptied", *final[-1:])


def read(history, findings, name):
    """{number: message}, {receipt: delivery} and the receives of a queue."""
    receives = history.of("queue.receive", on=name)
    messages = {tries[0].sent["body"]: Message(tries) for tries in by_op(history.of("queue.send", on=name)).values()}
    deliveries = read_deliveries(history, findings, name, receives, messages)
    for call in history.of("group.cancel", on=name):
        if call.sent["body"] in messages:
            messages[call.sent["body"]].may_be_removed(call)
    for call in history.of("queue.purge", on=name):
        for message in messages.values():
            if message.group == call.sent["group"]:
                message.may_be_removed(call)
    read_uses(history, findings, name, messages, deliveries)
    return messages, deliveries, receives


def read_deliveries(history, findings, name, receives, messages):
    """{receipt: delivery}, each with its message."""
    deliveries = {}
    for tries in by_op(receives).values():
        answered = answers(tries)
        # Two tries at once may both return the messages: the caller knew of them by the earlier
        # answer.
        full = max(answered, key=lambda call: (len(call.got["messages"]), -call.end), default=None)
        if not all(receipts(call) <= receipts(full) for call in answered) and not any(
            history.may_be_lost(call) for call in answered
        ):
            findings.violation("one key, one effect", f"{name}: one key was answered with two deliveries", *tries)
        for got in full.got["messages"] if full else ():
            message = messages.get(got["body"])
            if not message or not message.is_possible:
                findings.violation(
                    "effect none is true", f"{name}: {got['body']} was delivered, though never accepted", full
                )
                continue
            deliveries[got["receipt"]] = Delivery(tries, full, got)
            message.deliveries.append(deliveries[got["receipt"]])
    return deliveries


def receipts(receive):
    return {got["receipt"] for got in receive.got["messages"]}


def read_uses(history, findings, name, messages, deliveries):
    calls = history.of(*(f"queue.{what}" for what in ("receive", "acknowledge", "extend", "reject", "cancel")), on=name)
    repeated, ops = replays.of(calls), by_op(calls)
    for call in calls:
        if call in repeated:
            # A repeated receive leaves out deliveries that have ended. A repeated extension of an
            # ended delivery is refused.
            about = (
                receipts(call if call.is_ok else repeated[call])
                if call.what == "queue.receive"
                else {call.sent["receipt"]}
            )
            for receipt in about & deliveries.keys():
                replays.judge(history, findings, call, deliveries[receipt], ("receipt_expired",))
        if call in repeated:
            continue
        for use in uses_in(call):
            read_use(history, findings, name, messages, deliveries, use, ops[call.op][0].start)


def uses_in(call):
    """The deliveries that a call uses. A receive may acknowledge the messages that its worker has
    finished, and one call may extend many deliveries.
    """
    if call.what == "queue.receive":
        sent = [("queue.acknowledge", {"receipt": r, "body": body}) for r, body in call.sent.get("done", {}).items()]
    elif call.sent.get("is_one_of_many"):
        sent = [(call.what, call.sent)]
    else:
        return [call]
    outcomes = {d["receipt"]: d["outcome"] for d in call.got.get("deliveries", ())} if call.is_ok else {}
    uses = []
    for what, of_use in sent:
        use = copy.copy(call)
        use.what, use.sent = what, of_use
        outcome = outcomes.get(of_use["receipt"])  # if the call has no answer, its effect counts
        if outcome not in (None, "acknowledged", "extended"):
            code = "message_cancelled" if outcome == "cancelled" else "receipt_expired"
            use.status, use.effect, use.got = 410, "none", {"code": code}
        uses.append(use)
    return uses


def read_use(history, findings, name, messages, deliveries, call, begun):
    message, delivery = messages.get(call.sent["body"]), deliveries.get(call.sent["receipt"])
    if not message or not delivery:
        return
    if call.what in ("queue.acknowledge", "queue.cancel") and call.effect != "none":
        message.may_be_done = True
        if call.is_ok and not message.acknowledged:
            message.acknowledged = call
    if call.what == "queue.reject" and not call.sent.get("counted", True):
        message.may_count_again = True
    if call.code == "receipt_expired" and replays.told_over(call) < delivery.until:
        if any(history.may_be_lost(c) for c in (*delivery.calls, call, *message.tries)):
            findings.count("deliveries lost by a failover")
        else:
            findings.violation(
                "one delivery at a time",
                f"{name}: {message.number} was taken from its receiver before its time",
                delivery.call,
                call,
            )
    delivery.used(call, begun)


def check_message(history, findings, name, message):
    """An accepted message is delivered until it is acknowledged, and one key sends one message."""
    if message.accepted:
        findings.count("messages accepted")
        if not message.may_be_done:
            if history.may_be_lost(message.accepted):
                findings.count("messages lost by a failover")
            else:
                findings.violation(
                    "no accepted message is lost",
                    f"{name}: {message.number} was accepted and never acknowledged, "
                    f"delivered {len(message.deliveries)} times, though the queue is empty",
                    message.accepted,
                )
    if len(message.ids()) > 1 and not any(history.may_be_lost(call) for call in message.tries):
        findings.violation(
            "one key, one effect", f"{name}: {message.number} was stored {len(message.ids())} times", *message.tries
        )


def check_deliveries(history, findings, name, message):
    findings.count("deliveries", len(message.deliveries))
    findings.count("duplicates", max(0, len(message.deliveries) - 1))
    last = None  # of the earlier deliveries, the one with the latest end
    begins_again = message.may_count_again or bool(history.of("queue.redrive", on=name))  # its receives
    for delivery in sorted(message.deliveries, key=lambda d: (0 if begins_again else d.receives, d.known)):
        if delivery.known < message.due - ROUNDING_US:
            findings.violation(
                "never early", f"{name}: {message.number} came before its time", message.sent, delivery.call
            )
        if message.acknowledged and delivery.asked > message.acknowledged.end:
            if history.may_be_lost(message.acknowledged):
                findings.count("acknowledgements lost by a failover")
            else:
                findings.violation(
                    "no acknowledged message comes back",
                    f"{name}: {message.number} was delivered after its acknowledgement",
                    message.acknowledged,
                    delivery.call,
                )
        elif last and (delivery.known < last.until or not begins_again and delivery.receives == last.receives):
            if any(history.may_be_lost(call) for call in (*last.calls, *delivery.calls)):
                findings.count("messages delivered to two by a failover")
            else:
                findings.violation(
                    "one delivery at a time",
                    f"{name}: {message.number} was delivered to two at once",
                    last.call,
                    delivery.call,
                )
        if not last or delivery.until > last.until:
            last = delivery


def check_woken(history, findings, name, message, receives):
    """While no fault lasts, a ready message goes to a waiter."""
    if not message.accepted or len(message.tries) > 1:
        return
    due = max(message.due, message.accepted.end)
    deadline = due + WAKE_US
    if not history.is_quiet(message.sent.start - BEFORE_US, deadline):
        return
    since = message.sent.start
    waiting = [call for call in begun_between(receives, since - LONGEST_US, since - 100000) if call.gave_up > since]
    first = min(message.deliveries, key=lambda d: d.receives, default=None)
    if not waiting or first and first.receives > 1:
        return  # or a worker got it, and the answer was lost
    findings.count("wake-ups")
    patient = [
        call for call in waiting if call.gave_up > deadline and call.start + call.sent["wait_ms"] * 1000 > deadline
    ]
    if patient and (first.known if first else FOREVER) > deadline:
        findings.violation(
            "waiters are woken",
            f"{name}: {message.number} was ready, but no waiter had it " f"{WAKE_US // 1000} ms later",
            message.accepted,
            patient[0],
        )
