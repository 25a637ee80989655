"""Carries calls over asyncio's streams. A cancelled call closes its connection at once."""
from __future__ import annotations

import asyncio
import math
import time
from typing import Any, Awaitable, Callable, Optional, TypeVar

from ._http import AnswerReader, BadAnswer
from ._lease import Lease, Leases, extension, not_extended
from ._problems import Problem
from ._requests import Call, Pause, Response, Settings, Steps

T = TypeVar("T")
RECEIVED_MAX = 65536


class Connection:
    """Belongs to the loop that it was made in."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.loop = settings, asyncio.get_running_loop()
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None

    async def open(self) -> None:
        settings = self._settings
        if self._writer is not None:
            return
        if settings.unix is not None:
            self._reader, self._writer = await asyncio.open_unix_connection(settings.unix)
            return
        name = settings.host if settings.tls else None
        self._reader, self._writer = await asyncio.open_connection(
            settings.host, settings.port, ssl=settings.tls, server_hostname=name
        )

    async def send(self, content: bytes) -> None:
        assert self._writer is not None
        self._writer.write(content)
        await self._writer.drain()

    async def receive(self) -> bytes:
        assert self._reader is not None
        return await self._reader.read(RECEIVED_MAX)

    def is_usable(self) -> bool:
        """Not closed by the daemon while it was idle, and of this loop."""
        is_own = self.loop is asyncio.get_running_loop()
        return is_own and self._reader is not None and not self._reader.at_eof() and not self._reader.exception()

    def close(self) -> None:
        if self._writer is not None and not self.loop.is_closed():
            self._writer.transport.abort()
        self._reader = self._writer = None


async def within(seconds: float, awaitable: Awaitable[T]) -> T:
    try:
        return await asyncio.wait_for(awaitable, max(seconds, 0))
    except asyncio.TimeoutError:
        raise TimeoutError("timed out") from None


class Stream:
    """The body of an answer that does not end by itself, such as server-sent events."""

    def __init__(self, connection: Connection, answer: AnswerReader) -> None:
        self._connection, self._answer = connection, answer

    async def read(self, silence_s: float) -> bytes:
        """What came; b"" at the end. TimeoutError when nothing comes for so long."""
        while not self._answer.body:
            if self._answer.is_complete:
                return b""
            self._answer.feed(await within(silence_s, self._connection.receive()))
        piece = bytes(self._answer.body)
        self._answer.body.clear()
        return piece

    def close(self) -> None:
        self._connection.close()


class Transport:
    """Connections of one client."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._idle: list[Connection] = []

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def run(self, steps: Steps[T]) -> T:
        """The result of an operation, by all its steps."""
        try:
            step = next(steps)
            while True:
                try:
                    if isinstance(step, Pause):
                        await asyncio.sleep(step.seconds)
                        step = next(steps)
                        continue
                    answer = await self.call(step)
                except Problem as problem:
                    step = steps.throw(problem)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    async def call(self, call: Call) -> Response:
        return await self._repeat(call, lambda began: self._ask(call, began))

    async def stream(self, call: Call) -> Stream:
        """Asks for a stream, until its head has come."""
        return await self._repeat(call, lambda began: self._ask_stream(call, began))

    async def _repeat(self, call: Call, attempt: Callable[[float], Awaitable[T]]) -> T:
        call.begin(self.settings, time.monotonic())
        while True:
            try:
                return await attempt(time.monotonic())
            except Problem as problem:
                pause = call.failed(problem, time.monotonic())
            await asyncio.sleep(pause)

    async def _ask(self, call: Call, began: float) -> Response:
        connection, answer = self._take(), call.reader()
        await self._exchange(connection, call, began, answer, False)
        if answer.is_reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return call.response(answer, began)

    async def _ask_stream(self, call: Call, began: float) -> Stream:
        connection, answer = Connection(self.settings), call.reader()
        await self._exchange(connection, call, began, answer, True)
        try:
            if answer.status != 200 or answer.is_complete:
                call.response(answer, began)
                raise call.unanswered(BadAnswer("not a stream"), True)
            return Stream(connection, answer)
        except BaseException:
            connection.close()
            raise

    async def _exchange(
        self, connection: Connection, call: Call, began: float, answer: AnswerReader, is_stream: bool
    ) -> None:
        """Sends the request, and feeds `answer` until it is complete; a stream, until its head
        is."""
        was_sent = False

        async def talk() -> None:
            nonlocal was_sent
            await connection.open()
            was_sent = True
            await connection.send(content)
            while not answer.is_complete and not (is_stream and answer.status == 200):
                answer.feed(await connection.receive())

        content, deadline = call.attempt(began)
        try:
            await within(deadline - time.monotonic(), talk())
        except (OSError, BadAnswer) as error:
            connection.close()
            raise call.unanswered(error, was_sent) from None
        except BaseException:
            connection.close()
            raise

    def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return Connection(self.settings)


class Keeper:
    """Extends the leases of a client, by one timer and a short task for each extension."""

    def __init__(self, run: Callable[[Steps[Any]], Awaitable[Any]]) -> None:
        self._run_steps, self._leases = run, Leases()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._wakes_at, self._loop = math.inf, None  # type: float, Optional[asyncio.AbstractEventLoop]
        self._tasks: set[asyncio.Task[Any]] = set()

    def keep(self, lease: Lease) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._leases, self._timer, self._wakes_at = loop, Leases(), None, math.inf
        self._leases.add(lease)
        if lease.due(time.monotonic()) < self._wakes_at:
            self._look()

    def drop(self, lease: Lease) -> None:
        self._leases.drop(lease)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        now = time.monotonic()
        self._wakes_at = self._leases.look(now, self._begin)
        self._timer = None
        if not math.isinf(self._wakes_at) and self._loop is not None:
            self._timer = self._loop.call_later(max(self._wakes_at - now, 0), self._look)

    def _begin(self, leases: list[Lease]) -> None:
        task = asyncio.ensure_future(self._extend(leases))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _extend(self, leases: list[Lease]) -> None:
        try:
            await self._run_steps(extension(leases))
        except Exception as error:
            not_extended(leases, error)
        self._look()
