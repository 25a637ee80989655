"""Streams of asyncio's client: locks that live as long as a connection, and topics."""
from __future__ import annotations

import asyncio
import collections
from typing import Any, AsyncIterator, Iterable, Optional

from . import _steps
from ._aio_transport import Stream, Transport
from ._http import BadAnswer, Event, EventReader
from ._message import lost_lock
from ._problems import Problem, unanswered
from ._requests import Outage
from ._steps import SILENCE_S, TopicEvent


class _Events:
    """The events of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._reader = stream, EventReader()
        self._events: collections.deque[Event] = collections.deque()

    async def next(self, silence_s: float) -> Optional[Event]:
        """The next one, or None for a comment. Raises OSError or BadAnswer when there is none."""
        if not self._events:
            piece = await self._stream.read(silence_s)
            if not piece:
                raise BadAnswer("the stream has ended")
            self._events.extend(self._reader.feed(piece))
        return self._events.popleft() if self._events else None


class Hold:
    """Made by Client.hold. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(self, transport: Transport, name: str, body: dict[str, Any]) -> None:
        self.name, self.fence, self.lost, self._token = name, 0, asyncio.Event(), ""
        self._transport, self._body = transport, body
        self._watching: Optional[asyncio.Future[None]] = None

    def __del__(self) -> None:
        """A cancellation may have come before the block was entered."""
        if self._watching is not None and not self._watching.get_loop().is_closed():
            self._watching.cancel()

    async def __aenter__(self) -> Hold:
        stream = await self._transport.stream(_steps.hold(self.name, self._body))
        try:
            events, silence_s = _Events(stream), self._body["ttl_ms"] / 1500
            first = None
            while first is None:
                first = await events.next(silence_s)
            self.fence, self._token = _steps.held(first)
        except (OSError, BadAnswer) as error:
            stream.close()
            raise unanswered("POST", self.name, error, "none") from None
        except BaseException:
            stream.close()
            raise
        self._watching = asyncio.ensure_future(_watch(events, silence_s, stream, self.lost))
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        assert self._watching is not None
        is_lost = self.lost.is_set()
        try:
            if not is_lost:  # so that it is free when this returns; the end of the connection frees it, too
                release = _steps.lock_release(self.name, self._token, self._body["ttl_ms"])
                is_lost = not await self._transport.run(release)
        finally:
            self._watching.cancel()
        if is_lost and kind is None:
            raise lost_lock(self.name)


async def _watch(events: _Events, silence_s: float, stream: Stream, lost: asyncio.Event) -> None:
    """Until the stream ends. The daemon sends a comment at each third of the lock's time."""
    try:
        while await events.next(silence_s) is None:
            pass
    except (OSError, BadAnswer):
        pass
    finally:
        stream.close()
    lost.set()


class Listening:
    """Made by Client.listen: `async with` and `async for`; it does not end by itself.

    It connects again for as long as it takes, and then there is a "gap".
    """

    def __init__(self, transport: Transport, names: Iterable[str]) -> None:
        self._transport, self._names = transport, list(names)
        self._events: Optional[_Events] = None
        self._stream: Optional[Stream] = None
        self._outage = Outage(f"listening to {', '.join(self._names)}")

    async def __aenter__(self) -> Listening:
        if self._events is None:
            await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._drop()

    def __aiter__(self) -> AsyncIterator[TopicEvent]:
        return self._all()

    async def _all(self) -> AsyncIterator[TopicEvent]:
        """From the entry on, every message arrives, but around a "gap"."""
        await self.__aenter__()
        try:
            while True:
                event = await self._next()
                if event is not None:
                    yield event
        finally:
            self._drop()

    async def _open(self) -> None:
        """Until `listening`."""
        self._stream = await self._transport.stream(_steps.listen(self._names))
        try:
            self._events, event = _Events(self._stream), None
            while event is None or event.type != "listening":
                event = await self._events.next(SILENCE_S)
        except (OSError, BadAnswer) as error:
            self._drop()
            raise unanswered("GET", "/topics/stream", error, "none") from None
        except BaseException:
            self._drop()
            raise

    async def _next(self) -> Optional[TopicEvent]:
        try:
            if self._events is None:
                await self._open()
                self._outage.ended()
                return TopicEvent("gap")
            event = await self._events.next(SILENCE_S)
        except (OSError, BadAnswer) as error:
            self._drop()
            problem = unanswered("GET", "/topics/stream", error, "none")
        except Problem as failed:
            if not Outage.may_pass(failed):
                raise
            problem = failed
        else:
            if event is None:
                return None
            if event.type == "closing":  # the daemon shuts down
                self._drop()
                return None
            return _steps.topic_event(event)
        await asyncio.sleep(self._outage.failed(problem))
        return None

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._events = self._stream = None
