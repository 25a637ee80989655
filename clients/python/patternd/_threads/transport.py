# Made of _aio/transport.py by tools/python_client.py.
"""Carries calls over connections. Each exception out of a call closes its connection at once."""
from __future__ import annotations

import os
import time
from typing import Callable, Optional, TypeVar

from .._http import AnswerReader, BadAnswer
from .._problems import Problem
from .._requests import Call, Cut, Pause, Response, Settings, Steps, Undo, give_up
from .connection import Connection, background, sleep

T = TypeVar("T")


class Stream:
    """The body of an answer that does not end by itself, such as server-sent events."""

    def __init__(self, connection: Connection, answer: AnswerReader) -> None:
        self._connection, self._answer = connection, answer

    def read(self, silence_s: float) -> bytes:
        """What came; b"" at the end. TimeoutError when nothing comes for so long."""
        deadline = time.monotonic() + silence_s
        while not self._answer.body:
            if self._answer.is_complete:
                return b""
            self._answer.feed(self._connection.receive(deadline))
        piece = bytes(self._answer.body)
        self._answer.body.clear()
        return piece

    def close(self) -> None:
        self._connection.close()


class Transport:
    """The connections of a client, also for its forked children."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._idle: list[Connection] = []
        self._pid = os.getpid()

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop().close()

    def run(self, steps: Steps[T], cut: Optional[Cut] = None) -> T:
        """The result of an operation, by all its steps."""
        try:
            step = next(steps)
            while True:
                try:
                    if isinstance(step, Pause):
                        sleep(step.seconds)
                        step = next(steps)
                        continue
                    answer = self.call(step, cut)
                except Problem as problem:
                    step = steps.throw(problem)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    def give_up(self, call: Call) -> None:
        """Releases, beside the caller, what a call that was ended may have been granted."""
        if call.undo is not None and call.may_hold:
            try:
                background(self._give_up, call, call.undo)
            except RuntimeError:
                pass  # the program ends

    def _give_up(self, call: Call, undo: Undo) -> None:
        try:
            self.run(give_up(call, undo))
        except Exception:
            pass  # what it was granted ends at its time

    def call(self, call: Call, cut: Optional[Cut] = None) -> Response:
        return self._repeat(self._ask, call, cut)

    def stream(self, call: Call, cut: Optional[Cut] = None) -> Stream:
        """Asks for a stream, until its head has come."""
        return self._repeat(self._ask_stream, call, cut)

    def _repeat(
        self, attempt: Callable[[Call, float, Optional[Cut]], T], call: Call, cut: Optional[Cut]
    ) -> T:
        call.begin(self.settings, time.monotonic())
        while True:
            try:
                return attempt(call, time.monotonic(), cut)
            except Problem as problem:
                pause = call.failed(problem, time.monotonic())
            sleep(pause)

    def _ask(self, call: Call, began: float, cut: Optional[Cut]) -> Response:
        connection, answer = self._take(), call.reader()
        self._exchange(connection, call, began, answer, cut, False)
        if answer.is_reusable and connection.is_idle() and (cut is None or not cut.is_cut):
            self._idle.append(connection)
        else:
            connection.close()
        return call.response(answer, began)

    def _ask_stream(self, call: Call, began: float, cut: Optional[Cut]) -> Stream:
        connection, answer = Connection(self.settings), call.reader()
        self._exchange(connection, call, began, answer, cut, True)
        try:
            if answer.status != 200 or answer.is_complete:
                call.response(answer, began)
                raise call.unanswered(BadAnswer("not a stream"), True)
            return Stream(connection, answer)
        except BaseException:
            connection.close()
            raise

    def _exchange(
        self,
        connection: Connection,
        call: Call,
        began: float,
        answer: AnswerReader,
        cut: Optional[Cut],
        is_stream: bool,
    ) -> None:
        """Sends the request, and feeds `answer` until it is complete; a stream, until its head
        is."""
        content, deadline = call.attempt(began)
        try:
            if cut is not None:
                cut.watch(connection)
            connection.open(min(deadline, call.connected_by(began)))
            call.is_sent = True
            connection.send(content, deadline)
            while not answer.is_complete and not (is_stream and answer.status == 200):
                answer.feed(connection.receive(deadline))
        except (OSError, BadAnswer) as error:
            connection.close()
            raise call.unanswered(error, call.is_sent) from None
        except BaseException:
            connection.close()
            raise
        finally:
            if cut is not None and not is_stream:
                cut.watch(None)

    def _take(self) -> Connection:
        if self._pid != os.getpid():  # after a fork the connections are the parent's
            self._pid, self._idle = os.getpid(), []
        try:
            while not (connection := self._idle.pop()).is_usable():
                connection.close()
            return connection
        except IndexError:
            return Connection(self.settings)
