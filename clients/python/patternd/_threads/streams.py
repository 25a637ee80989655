# Made of _aio/streams.py by tools/python_client.py.
"""Streams: locks that live as long as a connection, and topics."""
from __future__ import annotations

import collections
import threading
from typing import Any, Iterable, Iterator, Optional

from .. import _steps
from .._http import BadAnswer, Event, EventReader
from .._message import lost_lock
from .._problems import Problem, unanswered
from .._requests import Cut, Outage
from .._steps import SILENCE_S, TopicEvent
from .connection import background, sleep
from .transport import Stream, Transport


class _Events:
    """The events of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._reader = stream, EventReader()
        self._events: collections.deque[Event] = collections.deque()

    def next(self, silence_s: float) -> Optional[Event]:
        """The next one, or None for a comment. Raises OSError or BadAnswer when there is none."""
        if not self._events:
            piece = self._stream.read(silence_s)
            if not piece:
                raise BadAnswer("the stream has ended")
            self._events.extend(self._reader.feed(piece))
        return self._events.popleft() if self._events else None


class Hold:
    """Made by Client.hold. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(self, transport: Transport, name: str, body: dict[str, Any]) -> None:
        self.name, self.fence, self.lost = name, 0, threading.Event()
        self._transport, self._body, self._cut, self._ended = transport, body, Cut(), threading.Event()
        self._token = ""

    def __del__(self) -> None:
        """An interrupt may have come before the block was entered."""
        self._cut.cut()

    def __enter__(self) -> Hold:
        stream = self._transport.stream(_steps.hold(self.name, self._body), self._cut)
        try:
            events, silence_s = _Events(stream), self._body["ttl_ms"] / 1500
            first = None
            while first is None:
                first = events.next(silence_s)
            self.fence, self._token = _steps.held(first)
            background(_watch, events, silence_s, stream, self._ended, self.lost)
        except (OSError, BadAnswer) as error:
            stream.close()
            raise unanswered("POST", self.name, error, "none") from None
        except BaseException:
            stream.close()
            raise
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        self._ended.set()
        is_lost = self.lost.is_set()
        try:
            if not is_lost:  # so that it is free when this returns; the end of the connection frees it, too
                release = _steps.lock_release(self.name, self._token, self._body["ttl_ms"])
                is_lost = not self._transport.run(release)
        finally:
            self._cut.cut()
        if is_lost and kind is None:
            raise lost_lock(self.name)


def _watch(
    events: _Events, silence_s: float, stream: Stream, ended: threading.Event, lost: threading.Event
) -> None:
    """Until the stream ends. The daemon sends a comment at each third of the lock's time."""
    try:
        while events.next(silence_s) is None:
            pass
    except (OSError, BadAnswer, ValueError):
        pass
    if not ended.is_set():
        lost.set()
    stream.close()


class Listening:
    """Made by Client.listen: for `with` and `for`; it does not end by itself.

    It connects again for as long as it takes, and then there is a "gap". `close` ends it, from
    anywhere.
    """

    def __init__(self, transport: Transport, names: Iterable[str]) -> None:
        self._transport, self._names, self._cut = transport, list(names), Cut()
        self._events: Optional[_Events] = None
        self._stream: Optional[Stream] = None
        self._outage = Outage(f"listening to {', '.join(self._names)}")

    def __enter__(self) -> Listening:
        if self._events is None:
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._drop()

    def close(self) -> None:
        """Ends the loop over it, from any thread or task."""
        self._cut.cut()

    def __iter__(self) -> Iterator[TopicEvent]:
        """From the entry on, every message arrives, but around a "gap"."""
        self.__enter__()
        try:
            while not self._cut.is_cut:
                event = self._next()
                if event is not None:
                    yield event
        finally:
            self._drop()

    def _open(self) -> None:
        """Until `listening`."""
        self._stream = self._transport.stream(_steps.listen(self._names), self._cut)
        try:
            self._events, event = _Events(self._stream), None
            while event is None or event.type != "listening":
                event = self._events.next(SILENCE_S)
        except (OSError, BadAnswer) as error:
            self._drop()
            raise unanswered("GET", "/topics/stream", error, "none") from None
        except BaseException:
            self._drop()
            raise

    def _next(self) -> Optional[TopicEvent]:
        try:
            if self._events is None:
                self._open()
                self._outage.ended()
                return TopicEvent("gap")
            event = self._events.next(SILENCE_S)
        except (OSError, BadAnswer) as error:
            self._drop()
            problem = unanswered("GET", "/topics/stream", error, "none")
        except Problem as failed:
            if not Outage.may_pass(failed) and not self._cut.is_cut:
                raise
            problem = failed
        else:
            if event is None:
                return None
            if event.type == "closing":  # the daemon shuts down
                self._drop()
                return None
            return _steps.topic_event(event)
        if not self._cut.is_cut:
            sleep(self._outage.failed(problem))
        return None

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._events = self._stream = None
