"""The history of a run as JSON lines: the programs and the mode, each call with its start, end and
answer, and each fault with its time. The run writes the history, and the checks read nothing else.

Times are microseconds of one monotonic clock since the start of the run. A call with an unknown
outcome (no answer, or effect `unknown`) has no end: it may have its effect at any time after its
start.
"""
import bisect
import json
import math
import threading
import time

FOREVER = math.inf


class Recorder:
    """Writes the history; all threads share it."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.lock = threading.Lock()
        self.started_ns = time.monotonic_ns()
        self.ops = 0

    def now_us(self):
        return (time.monotonic_ns() - self.started_ns) // 1000

    def next_op(self):
        with self.lock:
            self.ops += 1
            return self.ops

    def write(self, kind, **fields):
        line = json.dumps({"kind": kind, **fields}, separators=(",", ":"))
        with self.lock:
            self.file.write(line + "\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


class Call:
    """One request. All attempts of one operation have its Idempotency-Key and its `op`."""

    __slots__ = (
        "op",
        "what",
        "on",
        "worker",
        "keyed",
        "start",
        "end",
        "gave_up",
        "status",
        "effect",
        "retry_after",
        "sent",
        "got",
        "daemon",
    )

    def __init__(self, line):
        self.op, self.what, self.on, self.worker = line["op"], line["what"], line["on"], line["worker"]
        self.keyed, self.daemon = line["keyed"], line["daemon"]
        self.start, self.gave_up = line["start_us"], line["gave_up_us"]
        self.status, self.effect = line["status"], line["effect"]
        self.end = FOREVER if self.effect == "unknown" else self.gave_up
        self.sent, self.got = line["sent"], line["got"]
        self.retry_after = int(line["retry_after"]) if line["retry_after"] else None

    @property
    def is_ok(self):
        return 200 <= self.status < 300

    @property
    def is_unknown(self):
        return self.effect == "unknown"

    @property
    def code(self):
        return self.got.get("code") if self.got else None


class Fault:
    def __init__(self, line):
        self.name, self.start, self.end = line["name"], line["start_us"], line["end_us"]
        self.can_lose = line["can_lose"]
        self.can_lose_of = line.get("can_lose_of")  # only for this name; None for all names


class History:
    def __init__(self, lines):
        self.run, self.calls, self.faults, self.complaints = {}, [], [], []
        self.longest_iteration_us = 0
        for line in lines:
            kind = line["kind"]
            if kind == "call":
                self.calls.append(Call(line))
            elif kind == "fault":
                self.faults.append(Fault(line))
            elif kind == "complaint":
                self.complaints.append(line)
            elif kind == "loop":
                self.longest_iteration_us = line["longest_iteration_us"]
            else:
                self.run = line
        self.calls.sort(key=lambda call: call.start)
        self.index = {}
        for call in self.calls:
            self.index.setdefault((call.what, call.on), []).append(call)
        self.loss_windows = {(f.start, f.end, f.can_lose_of) for f in self.faults if f.can_lose}

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.loads(line) for line in file)

    def of(self, *whats, on):
        """The calls of these kinds about that resource, in the order of their starts."""
        found = [call for what in whats for call in self.index.get((what, on), ())]
        return sorted(found, key=started) if len(whats) > 1 else found

    def all_of(self, what):
        return [call for call in self.calls if call.what == what]

    def names(self, what):
        return sorted(on for kind, on in self.index if kind == what)

    def may_be_lost(self, call):
        """Whether a failover may have lost the effect of the call."""
        return any(
            call.start <= until and call.gave_up >= since and of in (None, call.on)
            for since, until, of in self.loss_windows
        )

    def is_quiet(self, since, until):
        """Whether no fault lasted at that time."""
        return not any(fault.start <= until and fault.end >= since for fault in self.faults)


def started(call):
    return call.start


def begun_between(calls, since, until):
    """The calls that began between two instants; `calls` are in the order of their starts."""
    return calls[bisect.bisect_left(calls, since, key=started) : bisect.bisect_right(calls, until, key=started)]


def answers(tries):
    """The attempts that succeeded, in the order of their answers. Of a request that was sent to two
    daemons at once, one may still wait when the other has long answered.
    """
    return sorted((call for call in tries if call.is_ok), key=lambda call: call.end)


def by_op(calls):
    """{op: its attempts, in order}."""
    found = {}
    for call in calls:
        found.setdefault(call.op, []).append(call)
    return found


class Findings:
    """The result of a check: violations, and figures to report."""

    def __init__(self):
        self.violations, self.figures = [], {}

    def violation(self, promise, text, *calls):
        self.violations.append(
            {
                "promise": promise,
                "text": text,
                "ops": [call.op for call in calls],
                "at_us": min((call.start for call in calls), default=0),
            }
        )

    def count(self, figure, by=1):
        self.figures[figure] = self.figures.get(figure, 0) + by
