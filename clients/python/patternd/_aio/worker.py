"""Works a queue by tasks: a driver of `_work.Work`."""
from __future__ import annotations

import asyncio
import signal
import threading
import time
import weakref
from inspect import isawaitable
from typing import Any, Callable, Coroutine, Generic, Optional, TypeVar, cast

from .._problems import Problem
from .._requests import Outage
from .._steps import Delivered
from .._work import RETURN_MS, SETTLE_S, Held, Options, Outcome, Work, check
from .transport import Transport

M = TypeVar("M", bound=Held)


class _Signals:
    """SIGTERM and SIGINT for all workers of a loop, which has one handler for each."""

    _of: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Signals] = weakref.WeakKeyDictionary()

    def __init__(self) -> None:
        self._counts: list[Callable[[], None]] = []
        self._before: list[tuple[signal.Signals, Any]] = []

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Signals:
        return cls._of.setdefault(loop, cls())

    def add(self, loop: asyncio.AbstractEventLoop, count: Callable[[], None]) -> None:
        if not self._counts:
            self._before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
            for number, _ in self._before:
                loop.add_signal_handler(number, self._tell)
        self._counts.append(count)

    def remove(self, loop: asyncio.AbstractEventLoop, count: Callable[[], None]) -> None:
        self._counts.remove(count)
        if not self._counts:
            for number, handler in self._before:
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _tell(self) -> None:
        for count in list(self._counts):
            count()


class Worker(Generic[M]):
    """The caller's task receives; `_settle`, `_watch` and each `_handle` are other tasks."""

    def __init__(
        self,
        transport: Transport,
        deliver: Callable[[Delivered, Optional[Callable[[], None]]], M],
        options: Options,
        handler: Callable[[M], Any],
        stop: Optional[asyncio.Event],
    ) -> None:
        check(handler, options, awaits=True)
        self._transport, self._deliver, self._options = transport, deliver, options
        self._handler, self._stop, self._loop = handler, stop, asyncio.get_running_loop()
        self._work: Work[M] = Work(options)
        self._changed: asyncio.Future[None] = self._loop.create_future()
        self._signals, self._failure = 0, None  # type: int, Optional[BaseException]
        self._turn: Optional[asyncio.Future[Any]] = None
        self._handling: dict[str, asyncio.Future[Any]] = {}

    async def run(self, signals: bool) -> None:
        """The first signal stops, the second one returns all messages at once."""
        caught = _Signals.of(self._loop) if signals and threading.current_thread() is threading.main_thread() else None
        if caught is not None:
            caught.add(self._loop, self._count)
        loops = [self._watch(), self._settle()] + [self._handle() for _ in range(self._options.concurrency)]
        tasks = [asyncio.ensure_future(self._guard(loop)) for loop in loops]
        limit_s = 0.0  # when this is cancelled, what runs is returned at once
        try:
            await self._receive()
            limit_s = self._options.drain_ms / 1000
        except Problem:
            limit_s = self._options.drain_ms / 1000
            raise
        finally:
            try:
                await self._drain(limit_s)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=RETURN_MS / 1000)
                if caught is not None:
                    caught.remove(self._loop, self._count)
        if self._failure is not None:
            raise self._failure

    async def _guard(self, loop: Coroutine[Any, Any, None]) -> None:
        """Nothing else does what a loop did that died: the work ends with its error."""
        try:
            await loop
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._end()

    def _count(self) -> None:
        self._signals += 1
        self._end()

    def _notify(self) -> None:
        self._changed.set_result(None)
        self._changed = self._loop.create_future()

    async def _wait(self, timeout: Optional[float] = None) -> None:
        await asyncio.wait({self._changed}, timeout=timeout)

    def _end(self) -> None:
        """No more is taken: the receive that waits is cancelled, which closes its connection."""
        self._work.is_stopping = True
        if self._turn is not None:
            self._loop.call_later(0 if self._signals > 1 else self._work.grace_s(), self._turn.cancel)
        self._notify()

    async def _watch(self) -> None:
        if self._stop is not None:
            await self._stop.wait()
            self._end()

    async def _receive(self) -> None:
        work = self._work
        while True:
            while not work.is_stopping and not work.wants_turn():
                await self._wait()
            if work.is_stopping:
                return
            outcomes = work.take()
            turn = self._turn = asyncio.ensure_future(self._transport.run(work.turn(outcomes, work.room())))
            try:
                await asyncio.wait({turn})
            except asyncio.CancelledError:  # what is on its way comes, and goes back
                self._end()
                await asyncio.wait({turn})
                self._received(turn)
                raise
            problem = self._received(turn)
            if turn.cancelled():  # by a stop
                return
            if problem is None:
                work.outage.ended()
            else:
                until = time.monotonic() + work.outage.failed(problem)
                while not work.is_stopping and time.monotonic() < until:
                    await self._wait(until - time.monotonic())

    def _received(self, turn: asyncio.Future[Any]) -> Optional[Problem]:
        """Takes what a turn received. Returns why it received nothing, if that may pass."""
        self._turn = None
        if turn.cancelled():
            return None
        try:
            problem, rows, expires = turn.result()
        except Problem as failed:
            problem, rows, expires = failed, [], 0.0
            if not Outage.may_pass(problem):
                raise
        for row in rows:  # one by one, so that a stop returns those before one that fails
            self._work.received(self._message(row, expires))
        self._notify()
        return cast(Optional[Problem], problem)

    def _message(self, row: dict[str, Any], expires: float) -> M:
        receipt = row["receipt"]

        def lost() -> None:
            task = self._handling.get(receipt)
            if task is not None:
                task.cancel()

        return self._deliver(Delivered(row, expires), lost)

    async def _handle(self) -> None:
        work = self._work
        while True:
            while (message := work.begin()) is None:
                await self._wait()
            began, outcome = time.monotonic(), work.unknown(message)  # type: float, Optional[Outcome]
            try:
                outcome = await self._outcome(message)
            finally:
                work.finish(message, time.monotonic() - began, outcome)
                self._notify()

    async def _outcome(self, message: M) -> Optional[Outcome]:
        """None: the delivery was lost, and its handler cancelled."""

        async def handle() -> Any:
            result = self._handler(message)
            return await result if isawaitable(result) else result

        receipt = message.receipt
        task = self._handling[receipt] = asyncio.ensure_future(handle())
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            del self._handling[receipt]
        if task.cancelled() and message.lease.is_lost:
            return None
        try:
            return self._work.done(message, task.result())
        except BaseException as error:
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                self._fail(error)
            return self._work.failed(message, error)

    async def _settle(self) -> None:
        work = self._work
        while True:
            await self._wait(SETTLE_S if work.outcomes else None)
            outcomes = work.take(is_ripe=True)
            if outcomes:
                await asyncio.sleep(await self._send(outcomes))

    async def _send(self, outcomes: list[Outcome], within_ms: Optional[float] = None) -> float:
        """Settles them, or returns how long to pause before another attempt."""
        work, failure = self._work, None
        try:
            await self._transport.run(work.settle(outcomes, within_ms))
            work.outage.ended()
        except Problem as problem:
            failure = problem
        self._notify()
        if failure and not Outage.may_pass(failure):
            self._fail(failure)
        return work.outage.failed(failure) if failure else 0.0

    async def _drain(self, limit_s: float) -> None:
        """Waits for what runs; at the limit, or at a second signal, returns it."""
        self._end()
        work, until = self._work, time.monotonic() + limit_s
        work.return_waiting()
        try:
            while time.monotonic() < until and self._signals < 2 and not work.is_idle:
                await self._wait(until - time.monotonic())
        finally:
            until = time.monotonic() + RETURN_MS / 1000
            work.give_up()
            while not work.is_settled and time.monotonic() < until:
                outcomes = work.take()
                if outcomes:
                    await asyncio.sleep(min(await self._send(outcomes, (until - time.monotonic()) * 1000), 0.2))
                else:  # the other task has them in its hands
                    await self._wait(until - time.monotonic())
