"""Works a queue by threads: a driver of `_work.Work`."""
from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import Any, Callable, Generic, Iterator, Optional, TypeVar

from .._problems import Problem
from .._requests import Cut, Outage
from .._steps import Delivered
from .._work import RETURN_MS, SETTLE_S, Held, Options, Outcome, Work, check
from .connection import LOOK_S, background
from .transport import Transport

M = TypeVar("M", bound=Held)


class Worker(Generic[M]):
    """`_drive` receives; `_watch`, `_settle` and each `_handle` run beside it, in a thread each.

    The caller's thread only waits, since it may be the main thread: there an exception of a signal
    handler may come at any step, also between the acquisition of a Condition and its block, and the
    Condition is locked for ever then (`keeper.Keeper`).
    """

    def __init__(
        self,
        transport: Transport,
        deliver: Callable[[Delivered, Optional[Callable[[], None]]], M],
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
        self._driver: Optional[threading.Thread] = None
        self._is_aborted = False
        self._done = threading.Lock()  # held until the end
        self._done.acquire()

    def run(self, signals: bool) -> None:
        with self._catch(signals):
            try:
                background(self._drive)
                # Python looks at signals between two steps. One that came during the step before
                # this would be seen at the end of this.
                while not self._done.acquire(timeout=LOOK_S) and not self._has_died():
                    pass
            except BaseException:  # what runs is returned at once
                self._is_aborted = True
                if self._driver is not None:
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

        before = [(number, signal.getsignal(number)) for number in caught]
        try:
            for number in caught:
                signal.signal(number, count)
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _drive(self) -> None:
        """Receives until the end, and drains then."""
        # In this order, and `run` in the other: it waits for this thread, or this takes nothing.
        self._driver = threading.current_thread()
        limit_s, failure = 0.0, None  # type: float, Optional[BaseException]
        try:
            if not self._is_aborted:
                for loop in [self._watch, self._settle] + [self._handle] * self._options.concurrency:
                    threading.Thread(target=self._guard, args=(loop,), daemon=True).start()
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

    def _has_died(self) -> bool:
        """An exception, such as for want of memory, ended the driver before it released `_done`."""
        return self._driver is not None and not self._driver.is_alive()

    def _guard(self, loop: Callable[[], None]) -> None:
        """Nothing else does what a loop did that died: the work ends with its error."""
        try:
            loop()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._end()

    def _is_stopped(self) -> bool:
        return self._signals > 0 or self._is_aborted or (self._stop is not None and self._stop.is_set())

    def _is_hurried(self) -> bool:
        return self._signals > 1 or self._is_aborted

    def _end(self) -> None:
        """No more is taken."""
        with self._changed:
            self._work.is_stopping = True
            self._changed.notify_all()

    def _watch(self) -> None:
        """Sees a stop, whatever the others wait for, and ends the turn that is under way then."""
        work = self._work
        while not work.is_stopping:
            if self._is_stopped():
                self._end()
            elif self._stop is not None:
                self._stop.wait(LOOK_S)
            else:
                time.sleep(LOOK_S)
        while work.grace_s() and self._signals < 2:
            time.sleep(LOOK_S)
        self._cut.cut()

    def _receive(self) -> None:
        work = self._work
        while True:
            with self._changed:
                while not work.is_stopping and not work.wants_turn():
                    self._changed.wait()
                if work.is_stopping:
                    return
                outcomes, limit = work.take(), work.room()
            try:
                problem, rows, expires = self._transport.run(work.turn(outcomes, limit), self._cut)
            except Problem as failed:
                problem, rows, expires = failed, [], 0.0
                if not Outage.may_pass(problem):
                    raise
            with self._changed:
                for row in rows:  # one by one, so that a stop returns those before one that fails
                    work.received(self._deliver(Delivered(row, expires), None))
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
            began, outcome = time.monotonic(), work.unknown(message)
            try:
                try:
                    outcome = work.done(message, self._handler(message))
                except BaseException as error:
                    outcome = work.failed(message, error)
                    if not isinstance(error, Exception):  # such as SystemExit: the caller of work() gets it
                        self._fail(error)
            finally:
                with self._changed:
                    work.finish(message, time.monotonic() - began, outcome)
                    self._changed.notify_all()

    def _settle(self) -> None:
        work = self._work
        while True:
            with self._changed:
                if self._has_ended:
                    return
                self._changed.wait(SETTLE_S if work.outcomes else None)
                outcomes = work.take(is_ripe=True)
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
            self._fail(failure)
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
