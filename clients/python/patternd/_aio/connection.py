"""What asyncio does in a way that threads do not (`_threads/connection.py` has the same names)."""
from __future__ import annotations

import asyncio
import time
from inspect import isawaitable
from typing import Any, Awaitable, Callable, Coroutine, Optional, TypeVar, Union, cast

from .._requests import Settings

T = TypeVar("T")
Fill = Callable[[], Union[T, Awaitable[T]]]
RECEIVED_MAX = 65536
sleep = asyncio.sleep
_tasks: set[asyncio.Future[Any]] = set()  # a loop itself refers to its tasks weakly


def background(function: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
    """Runs it beside the caller. It ends with the loop."""
    task = asyncio.get_running_loop().create_task(function(*args))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def filled(fill: Fill[T]) -> T:
    made = fill()
    return cast(T, await made if isawaitable(made) else made)


class Connection:
    """To a host and port, by TLS or not, or to a Unix socket. Belongs to the loop that it was made
    in."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._loop = settings, asyncio.get_running_loop()
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None

    async def open(self, deadline: float) -> None:
        if self._writer is not None:
            return
        settings = self._settings
        name = settings.host if settings.tls else None
        opening: asyncio.Future[Any] = asyncio.ensure_future(
            asyncio.open_unix_connection(settings.unix)
            if settings.unix is not None
            else asyncio.open_connection(settings.host, settings.port, ssl=settings.tls, server_hostname=name)
        )
        try:  # not by wait_for, which can lose a cancellation, or what was opened at that instant
            await asyncio.wait({opening}, timeout=max(deadline - time.monotonic(), 0))
            if not opening.done():
                raise TimeoutError("timed out")
            self._reader, self._writer = opening.result()
        finally:
            if self._writer is None and not opening.cancel() and opening.exception() is None:
                opening.result()[1].transport.abort()

    async def send(self, content: bytes, deadline: float) -> None:
        """Does not wait until it has left: an answer may come before."""
        assert self._writer is not None
        self._writer.write(content)

    async def receive(self, deadline: float) -> bytes:
        assert self._reader is not None
        timer = self._loop.call_later(max(deadline - time.monotonic(), 0), self._time_out)
        try:
            return await self._reader.read(RECEIVED_MAX)
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        if self._reader is not None:
            self._reader.set_exception(TimeoutError("timed out"))

    def is_idle(self) -> bool:
        """All that was sent has left."""
        return self._writer is not None and self._writer.transport.get_write_buffer_size() == 0

    def is_usable(self) -> bool:
        """Not closed by the daemon while it was idle, and of this loop."""
        is_own = self._loop is asyncio.get_running_loop()
        return is_own and self._reader is not None and not self._reader.at_eof() and not self._reader.exception()

    def cut(self) -> None:
        """Ends what waits for it."""
        if self._writer is not None and not self._loop.is_closed():
            self._writer.transport.abort()

    def close(self) -> None:
        self.cut()
        self._reader = self._writer = None
