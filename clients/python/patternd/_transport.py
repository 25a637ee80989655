"""Carries calls over blocking sockets. Each exception out of a call closes its connection at
once."""
from __future__ import annotations

import ipaddress
import os
import selectors
import socket
import threading
import time
from typing import Any, Callable, Optional, TypeVar

from ._http import AnswerReader, BadAnswer
from ._problems import Problem
from ._requests import Call, Pause, Response, Settings, Steps

T = TypeVar("T")
RECEIVED_MAX = 65536


def resolved(host: str, port: int, deadline: float) -> list[Any]:
    """The addresses of a host. Resolvers know no deadline, so a thread asks for names."""

    def ask() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as error:
            failed.append(error)

    found, failed = list[Any](), list[BaseException]()
    try:
        ipaddress.ip_address(host)
        ask()
    except ValueError:
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(max(deadline - time.monotonic(), 0))
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError(f"the name {host} was not resolved in time")
    return found


class Cut:
    """Ends the call that uses it from another thread, or from a signal handler."""

    def __init__(self) -> None:
        self.is_cut, self._socket = False, None  # type: bool, Optional[socket.socket]

    def watch(self, sock: Optional[socket.socket]) -> None:
        self._socket = sock
        if self.is_cut and sock is not None:
            raise ConnectionAbortedError("the call was cut")

    def cut(self) -> None:
        self.is_cut = True
        sock = self._socket
        if sock is not None:
            try:  # not SSLSocket.shutdown, which would continue in plain text
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass


class Connection:
    """To a host and port, by TLS or not, or to a Unix socket."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.socket = settings, None  # type: Settings, Optional[socket.socket]

    def open(self, deadline: float) -> None:
        if self.socket is not None:
            return
        settings = self._settings
        if settings.unix is not None:
            self._connect(socket.AF_UNIX, settings.unix, deadline)
            return
        failure: OSError = OSError("no address")
        for family, _, _, _, address in resolved(settings.host, settings.port, deadline):
            try:
                self._connect(family, address, deadline)
                break
            except OSError as error:
                failure = error
                self.close()
        else:
            raise failure
        assert self.socket is not None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if settings.tls:
            self.socket = settings.tls.wrap_socket(
                self.socket, server_hostname=settings.host, do_handshake_on_connect=False
            )
            self._limit(deadline)
            self.socket.do_handshake()

    def _connect(self, family: int, address: Any, deadline: float) -> None:
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self._limit(deadline)
        self.socket.connect(address)

    def _limit(self, deadline: float) -> None:
        """The time that is left is for all system calls together, not for each."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        assert self.socket is not None
        self.socket.settimeout(left)

    def send(self, content: bytes, deadline: float) -> None:
        assert self.socket is not None
        rest = memoryview(content)
        while rest:
            self._limit(deadline)
            rest = rest[self.socket.send(rest) :]

    def receive(self, deadline: float) -> bytes:
        assert self.socket is not None
        self._limit(deadline)
        return self.socket.recv(RECEIVED_MAX)

    def is_stale(self) -> bool:
        """Whether the daemon closed it while it was idle."""
        assert self.socket is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            return bool(selector.select(0))

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Stream:
    """The body of an answer that does not end by itself, such as server-sent events."""

    def __init__(self, connection: Connection, answer: AnswerReader, sent: float) -> None:
        self._connection, self._answer, self.sent = connection, answer, sent

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
    """Connections of one client, for all its threads and its forked children."""

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
                        time.sleep(step.seconds)
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

    def call(self, call: Call, cut: Optional[Cut] = None) -> Response:
        return self._repeat(call, lambda began: self._ask(call, began, cut))

    def stream(self, call: Call, cut: Optional[Cut] = None) -> Stream:
        """Asks for a stream, until its head has come."""
        return self._repeat(call, lambda began: self._ask_stream(call, began, cut))

    def _repeat(self, call: Call, attempt: Callable[[float], T]) -> T:
        call.begin(self.settings, time.monotonic())
        while True:
            try:
                return attempt(time.monotonic())
            except Problem as problem:
                pause = call.failed(problem, time.monotonic())
            time.sleep(pause)

    def _ask(self, call: Call, began: float, cut: Optional[Cut]) -> Response:
        content, deadline = call.attempt(began)
        connection, answer = self._take(), call.reader()
        self._exchange(connection, call, content, deadline, answer, cut, False)
        if answer.is_reusable and (cut is None or not cut.is_cut):
            self._idle.append(connection)
        else:
            connection.close()
        return call.response(answer, began)

    def _ask_stream(self, call: Call, began: float, cut: Optional[Cut]) -> Stream:
        content, deadline = call.attempt(began)
        connection, answer = Connection(self.settings), call.reader()
        self._exchange(connection, call, content, deadline, answer, cut, True)
        try:
            if answer.status != 200 or answer.is_complete:
                call.response(answer, began)
                raise call.unanswered(BadAnswer("not a stream"), True)
            return Stream(connection, answer, began)
        except BaseException:
            connection.close()
            raise

    def _exchange(
        self,
        connection: Connection,
        call: Call,
        content: bytes,
        deadline: float,
        answer: AnswerReader,
        cut: Optional[Cut],
        is_stream: bool,
    ) -> None:
        """Sends the request, and feeds `answer` until it is complete; a stream, until its head
        is."""
        was_sent = False
        try:
            connection.open(deadline)
            if cut is not None:
                cut.watch(connection.socket)
            was_sent = True
            connection.send(content, deadline)
            while not answer.is_complete and not (is_stream and answer.status == 200):
                answer.feed(connection.receive(deadline))
        except (OSError, BadAnswer) as error:
            connection.close()
            raise call.unanswered(error, was_sent) from None
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
            while (connection := self._idle.pop()).is_stale():
                connection.close()
            return connection
        except IndexError:
            return Connection(self.settings)
