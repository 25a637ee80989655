"""Works a queue by threads: the blocking driver of `_work.Work`."""
from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from typing import Any, Callable, Generic, Iterator, Optional, TypeVar

from ._problems import Problem
from ._requests import Outage
from ._steps import Delivered
from ._transport import Cut, Transport
from ._work import SETTLE_S, Held, Options, Outcome, Work, check

M = TypeVar("M", bound=Held)
LOOK_S = 0.1  # how often `stop` is looked at
RETURN_MS = 2000  # how long the return of messages may take, after the limit of a stop


class Worker(Generic[M]):
    """`_drive` receives, `_settle` and `_handle` run beside it, each in a separate thread.

    The caller's thread only waits, since it may be the main thread: there an exception of a signal
    handler may come at any step, also between the acquisition of a Condition and its block, and the
    Condition is locked for ever then (`_lease.Keeper`).
    """

    def __init__(
        self,
        transport: Transport,
        deliver: Callable[[Delivered], M],
        options: Options,
        handler: Callable[[M], Any],
        stop: Optional[threading.Event],
    ) -> None:
        check(handler, options, awaits=False)
        self._transport, self._deliver, self._options = transport, deliver, options
        self._handler, self._stop = handler, stop
        self._work: Work[M] = Work(options)
        self._changed = threading.Condition()
        self._cut, self._signals, self._has_ended = Cut(), 0, False
        self._failure: Optional[BaseException] = None
        self._is_driven = self._is_aborted = False
        self._done = threading.Lock()  # held until the end
        self._done.acquire()

    def run(self, signals: bool) -> None:
        with self._catch(signals):
            try:
                _thread.start_new_thread(self._start, ())  # in one step, unlike Thread.start()
                self._done.acquire()
            except BaseException:  # what runs is returned at once
                self._is_aborted = True
                self._cut.cut()
                if self._is_driven:
                    self._done.acquire(timeout=2 * RETURN_MS / 1000)
                raise
        if self._failure is not None:
            raise self._failure

    @contextlib.contextmanager
    def _catch(self, signals: bool) -> Iterator[None]:
        """The first signal stops, the second one returns all messages at once."""
        is_main = threading.current_thread() is threading.main_thread()
        caught = [signal.SIGTERM, signal.SIGINT] if signals and is_main else []

        def count(*_: object) -> None:  # no lock here: this runs between two steps of the main thread
            self._signals += 1
            if self._is_hurried() or not self._work.grace_s():
                self._cut.cut()

        before = [(number, signal.getsignal(number)) for number in caught]
        try:
            for number in caught:
                signal.signal(number, count)
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _start(self) -> None:
        threading.Thread(target=self._drive, daemon=True).start()

    def _drive(self) -> None:
        """Receives until the end, and drains then."""
        # In this order, and `run` in the other: it waits for this thread, or this takes nothing.
        self._is_driven = True
        limit_s, failure = 0.0, None  # type: float, Optional[BaseException]
        try:
            if not self._is_aborted:
                loops = [self._handle] * self._options.concurrency + [self._settle]
                for loop in loops:
                    threading.Thread(target=loop, daemon=True).start()
                self._receive()
                limit_s = self._options.drain_ms / 1000
        except Problem as problem:
            limit_s, failure = self._options.drain_ms / 1000, problem
        except BaseException as error:  # what runs is returned at once
            failure = error
        try:
            self._drain(limit_s)
        finally:
            self._failure = failure or self._failure
            self._done.release()

    def _is_stopped(self) -> bool:
        return self._signals > 0 or self._is_aborted or (self._stop is not None and self._stop.is_set())

    def _is_hurried(self) -> bool:
        return self._signals > 1 or self._is_aborted

    def _end(self) -> None:
        """No more is taken."""
        with self._changed:
            self._work.is_stopping = True
            self._changed.notify_all()
        timer = threading.Timer(0 if self._is_hurried() else self._work.grace_s(), self._cut.cut)
        timer.daemon = True
        timer.start()

    def _receive(self) -> None:
        work = self._work
        while True:
            with self._changed:
                while not work.is_stopping and not work.wants_turn():
                    self._changed.wait()
                if work.is_stopping or self._cut.is_cut:
                    return
                outcomes, limit = work.take(), work.room()
            try:
                problem, rows, expires = self._transport.run(work.turn(outcomes, limit), self._cut)
            except Problem as failed:
                problem, rows, expires = failed, [], 0.0
                if not Outage.may_pass(problem):
                    raise
            messages = [self._deliver(Delivered(row, expires)) for row in rows]
            with self._changed:
                work.received(messages)
                self._changed.notify_all()
                if problem is None:
                    work.outage.ended()
                elif not self._cut.is_cut:
                    self._changed.wait_for(lambda: work.is_stopping, work.outage.failed(problem))

    def _handle(self) -> None:
        work = self._work
        while True:
            with self._changed:
                while (message := work.begin()) is None:
                    if self._has_ended:
                        return
                    self._changed.wait()
            began = time.monotonic()
            try:
                outcome = work.done(message, self._handler(message))
            except BaseException as error:
                outcome = work.failed(message, error)
                if not isinstance(error, Exception):  # such as SystemExit: the caller of work() gets it
                    self._failure = error
                    self._end()
            with self._changed:
                work.finish(message, time.monotonic() - began, outcome)
                self._changed.notify_all()

    def _settle(self) -> None:
        work = self._work
        while not self._has_ended:
            with self._changed:
                self._changed.wait(SETTLE_S if work.outcomes else LOOK_S)
                outcomes = work.take(is_ripe=True)
            if self._is_stopped() and not work.is_stopping:
                self._end()
            if outcomes:
                pause = self._send(outcomes)
                with self._changed:
                    self._changed.wait_for(lambda: self._has_ended, pause)

    def _send(self, outcomes: list[Outcome], within_ms: Optional[float] = None) -> float:
        """Settles them, or returns how long to pause before another attempt."""
        work, failure = self._work, None
        try:
            self._transport.run(work.settle(outcomes, within_ms))
            work.outage.ended()
        except Problem as problem:
            failure = problem
        with self._changed:
            self._changed.notify_all()
        if failure and not Outage.may_pass(failure):
            self._failure = failure
            self._end()
        return work.outage.failed(failure) if failure else 0.0

    def _drain(self, limit_s: float) -> None:
        """Waits for what runs; at the limit, or at a second signal, returns it."""
        self._end()
        work, until = self._work, time.monotonic() + limit_s
        try:
            with self._changed:
                work.return_waiting()
                while time.monotonic() < until and not self._is_hurried() and not work.is_idle:
                    self._changed.wait(LOOK_S)
        finally:
            until = time.monotonic() + RETURN_MS / 1000
            with self._changed:
                self._has_ended = True
                work.return_waiting()
                work.give_up()
                self._changed.notify_all()
            while not work.is_settled and time.monotonic() < until:
                with self._changed:
                    outcomes = work.take()
                    if not outcomes:  # the other thread has them in its hands
                        self._changed.wait(LOOK_S)
                if outcomes:
                    time.sleep(min(self._send(outcomes, (until - time.monotonic()) * 1000), 0.2))
