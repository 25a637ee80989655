"""The state of a loop that works a queue (docs/adr/0029-work.md). No I/O, no thread, no task.

A driver makes turns while `wants_turn()`, hands out what `begin()` returns, gives outcomes to
`finish()`, and sends what waited for `SETTLE_S` while no turn takes it.
"""
from __future__ import annotations

import collections
import inspect
import json
import math
import time
from typing import Any, Callable, Generic, Iterable, NamedTuple, Optional, Protocol, TypeVar

from ._lease import SAFE, Lease
from ._problems import Problem, told
from ._requests import Call, Outage, Response, Steps, given, path_of, warn
from ._steps import rejection

AHEAD_S, SETTLE_S = 0.5, 0.01
GRACE_S = 0.5  # at a stop, of a turn that may not be waiting yet: what it takes is on its way
RETURN_MS = 2000  # how long the return of messages may take, after the limit of a stop
ROWS_MAX, RESULT_MAX, RESULTS_MAX = 100, 65536, 524288
REFUSALS = (400, 413, 422)


class Held(Protocol):
    """What the state knows of a message of either client."""

    id: str
    receipt: str
    lease: Lease

    def give_up(self) -> None:
        """The loop is done with it: it is not extended any more."""

    @property
    def is_settled(self) -> bool:
        ...


M = TypeVar("M", bound=Held)


class Options(NamedTuple):
    queue: str
    concurrency: int
    wait_ms: int
    visibility_ms: int
    worker: Optional[str]
    drain_ms: int


class Outcome(NamedTuple):
    """What becomes of a message: `kind` is a member of `settle`, and `row` is of that member."""

    message: Any
    kind: str
    row: Any
    size: int
    at: float


def check(handler: Callable[[Any], Any], options: Options, awaits: bool) -> None:
    """Refuses what would settle messages without work: a handler whose body runs only when its
    result is awaited or iterated, or no handler."""
    if not callable(handler):
        raise TypeError(f"the handler is {handler!r}; it must be a function that takes a message")
    if isinstance(options.concurrency, bool) or not isinstance(options.concurrency, int) or options.concurrency < 1:
        raise ValueError(f"concurrency is {options.concurrency!r}; it must be an integer, and at least 1")
    for function in (handler, getattr(handler, "__call__")):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{handler!r} is a generator function, whose body would not run: it must not yield")
        if inspect.iscoroutinefunction(function) and not awaits:
            raise TypeError(f"{handler!r} is a coroutine function, whose body would not run: work by patternd.aio")


class Work(Generic[M]):
    def __init__(self, options: Options) -> None:
        # A delivery begins after its request was sent. So half of it is left when its answer comes.
        self.options = options._replace(wait_ms=min(options.wait_ms, options.visibility_ms // 2))
        self.waiting: collections.deque[M] = collections.deque()
        self.running: set[M] = set()
        self.outcomes: collections.deque[Outcome] = collections.deque()
        self._sending: dict[int, list[Outcome]] = {}  # of requests under way
        self.is_stopping = False
        self._turn_began = -math.inf
        self.outage = Outage(f"work on queue {options.queue!r}")
        self._mean_s = math.inf
        self._path = path_of("queues", options.queue)

    # What is held

    def _ahead(self) -> int:
        """How many messages all handlers together begin within AHEAD_S."""
        seconds = min(AHEAD_S, self.options.visibility_ms / 10000)
        return min(int(self.options.concurrency * seconds / max(self._mean_s, 1e-6)), ROWS_MAX)

    def room(self) -> int:
        held = len(self.waiting) + len(self.running)
        return min(max(self.options.concurrency + self._ahead() - held, 0), ROWS_MAX)

    def wants_turn(self) -> bool:
        """Batches are as large as half of what is held ahead, unless a handler would wait."""
        return not self.is_stopping and self.room() > (self._ahead() // 2 if self.waiting else 0)

    def grace_s(self) -> float:
        """For how long a stop leaves the turn that is under way alone."""
        return max(self._turn_began + GRACE_S - time.monotonic(), 0.0)

    def received(self, message: M) -> None:
        self.waiting.append(message)

    def return_waiting(self) -> None:
        """What a stop finds received and not begun goes back, once no turn would take it again."""
        self._return(self.waiting)
        self.waiting.clear()

    def begin(self) -> Optional[M]:
        """The next message to work on. One that was lost while it waited is another worker's."""
        while self.waiting and not self.is_stopping:
            message = self.waiting.popleft()
            if not message.lease.is_ended:
                self.running.add(message)
                return message
        return None

    def finish(self, message: M, seconds: float, outcome: Optional[Outcome]) -> None:
        """A handler is done. What it settled itself, or lost, needs no outcome."""
        self._mean_s = seconds if math.isinf(self._mean_s) else 0.8 * self._mean_s + 0.2 * seconds
        if message in self.running:  # else it went back at the limit of the stop
            self.running.discard(message)
            if outcome is None or message.is_settled:
                message.give_up()
            else:
                self.outcomes.append(outcome)

    def done(self, message: M, result: Any) -> Outcome:
        """A handler has returned. Its work is done, unless what it returned shows that it is not: a
        coroutine, a generator, or anything else that JSON refuses. A result that is too large is
        left out."""
        now = time.monotonic()
        if result is None:
            return Outcome(message, "acknowledge", message.receipt, 0, now)
        try:
            text = json.dumps(result, allow_nan=False)
            size = len(text.encode())
        except Exception as error:
            if inspect.iscoroutine(result):
                result.close()  # else Python warns that it was never awaited
            refused = TypeError(
                f"the handler returned no JSON but a {type(result).__name__}, so its work may not be done"
            )
            refused.__cause__ = error
            return self.failed(message, refused)
        if size > RESULT_MAX:
            warn("message %r: the result of its handler is left out: %d bytes", message.id, size)
            return Outcome(message, "acknowledge", message.receipt, 0, now)
        return Outcome(message, "complete", {"receipt": message.receipt, "result": json.loads(text)}, size, now)

    def failed(self, message: M, error: BaseException) -> Outcome:
        """A handler has raised: the message is due again after the queue's backoff."""
        warn("message %r of queue %r: its handler raised", message.id, self.options.queue, error=error)
        row = {"receipt": message.receipt, **rejection(None, told(error))}
        return Outcome(message, "reject", row, 0, time.monotonic())

    def unknown(self, message: M) -> Outcome:
        """Of a message whose handler has ended, in a way that the client does not know."""
        row = {"receipt": message.receipt, **rejection(None, "the worker failed after the handler had ended")}
        return Outcome(message, "reject", row, 0, time.monotonic())

    def give_up(self) -> None:
        """The limit of a stop: what still runs goes back, and is lost for its handler."""
        self._return(self.running)
        for message in self.running:
            if not message.is_settled:
                message.lease.lose()
        self.running.clear()

    def _return(self, messages: Iterable[M]) -> None:
        """They did not fail: this delivery does not count."""
        for message in messages:
            if not message.lease.is_ended and not message.is_settled:
                row = {"receipt": message.receipt, **rejection(0, counted=False)}
                self.outcomes.append(Outcome(message, "reject", row, 0, time.monotonic()))

    @property
    def is_settled(self) -> bool:
        return not self.outcomes and not self._sending

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self.running and self.is_settled

    # What is sent

    def take(self, is_ripe: bool = False) -> list[Outcome]:
        """Outcomes for one request; with `is_ripe` only if the first has waited for SETTLE_S."""
        if is_ripe and self.outcomes and time.monotonic() - self.outcomes[0].at < SETTLE_S:
            return []
        taken: list[Outcome] = []
        counts: collections.Counter[str] = collections.Counter()
        size = 0
        while self.outcomes:
            outcome = self.outcomes[0]
            if counts[outcome.kind] == ROWS_MAX or (taken and size + outcome.size > RESULTS_MAX):
                break
            counts[outcome.kind] += 1
            size += outcome.size
            taken.append(self.outcomes.popleft())
        if taken:
            self._sending[id(taken)] = taken
        return taken

    def put_back(self, outcomes: list[Outcome]) -> None:
        """What was not settled, or may have been, is sent again."""
        self.outcomes.extendleft(reversed(outcomes))
        self._sending.pop(id(outcomes), None)

    def turn(self, outcomes: list[Outcome], limit: int) -> Steps[tuple[Optional[Problem], list[dict[str, Any]], float]]:
        """Settles, and receives up to `limit`: why nothing was received, the messages, and until
        when they are sure to be current. The outcomes are kept when that fails."""
        options = self.options
        body = given(limit=limit, wait_ms=options.wait_ms, visibility_ms=options.visibility_ms, worker=options.worker)
        if outcomes:
            body["settle"] = self._rows(outcomes)
        self._turn_began = time.monotonic()
        call = Call("POST", self._path + "/receive", body, key="", wait_ms=options.wait_ms, is_single=True)
        try:
            answer = yield from self._settling(outcomes, call)
        finally:
            self._turn_began = -math.inf
        if answer is None:
            return None, [], 0.0
        unreceived = answer.body.get("unreceived")
        problem = Problem(503, {"detail": "the receive failed after it settled", **unreceived}) if unreceived else None
        return problem, answer.body["messages"], answer.sent + options.visibility_ms * SAFE

    def settle(self, outcomes: list[Outcome], within_ms: Optional[float] = None) -> Steps[None]:
        yield from self._settling(outcomes, self._settle_call(outcomes, within_ms))

    def _settle_call(self, outcomes: list[Outcome], within_ms: Optional[float] = None) -> Call:
        return Call("POST", self._path + "/settle", self._rows(outcomes), key="", is_single=True, within_ms=within_ms)

    def _settling(self, outcomes: list[Outcome], call: Call) -> Steps[Optional[Response]]:
        """None: the daemon refused a row, so each was sent by itself."""
        try:
            try:
                answer = yield call
            except Problem as problem:
                if not outcomes or problem.status not in REFUSALS:
                    raise
                yield from self._separate(outcomes)
                return None
            self._settled(outcomes, answer)
            return answer
        finally:  # also at the end of a call by an interrupt
            self.put_back(outcomes)

    def _separate(self, outcomes: list[Outcome]) -> Steps[None]:
        """A row that the daemon refuses keeps no other from being settled."""
        while outcomes:
            one = outcomes[:1]
            try:
                self._settled(one, (yield self._settle_call(one)))
            except Problem as problem:
                if problem.status not in REFUSALS:
                    raise
                self._refused(one[0], problem)
            outcomes.pop(0)

    def _refused(self, outcome: Outcome, problem: Problem) -> None:
        message = outcome.message
        warn("message %r cannot be settled by %s: %s", message.id, outcome.kind, problem)
        if outcome.kind == "complete":  # the work is done
            self.outcomes.append(Outcome(message, "acknowledge", message.receipt, 0, time.monotonic()))
        else:
            message.give_up()  # it comes again

    @staticmethod
    def _rows(outcomes: list[Outcome]) -> dict[str, list[Any]]:
        rows: dict[str, list[Any]] = {}
        for outcome in outcomes:
            rows.setdefault(outcome.kind, []).append(outcome.row)
        return rows

    def _settled(self, outcomes: list[Outcome], answer: Response) -> None:
        ends = {row["receipt"]: row["outcome"] for row in answer.body.get("deliveries") or []}
        for outcome in outcomes:
            outcome.message.give_up()
            if ends.get(outcome.message.receipt) == "not_current" and outcome.kind != "reject":
                warn("message %r was worked on for longer than its delivery lasted", outcome.message.id)
        outcomes.clear()
