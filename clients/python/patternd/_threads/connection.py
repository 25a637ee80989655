"""What threads do in a way that asyncio does not (`_aio/connection.py` has the same names)."""
from __future__ import annotations

import _thread
import ipaddress
import selectors
import socket
import threading
import time
from typing import Any, Callable, Optional, TypeVar

from .._requests import Settings

T = TypeVar("T")
Fill = Callable[[], T]
RECEIVED_MAX = 65536
EARLY_S = 0.1  # how long an answer may take that a daemon gave before it closed the connection
LOOK_S = 0.05
sleep = time.sleep


def background(function: Callable[..., None], *args: Any) -> None:
    """Runs it beside the caller, until the program ends."""
    _thread.start_new_thread(_begin, (function, args))  # in one step, unlike Thread.start()


def _begin(function: Callable[..., None], args: tuple[Any, ...]) -> None:
    threading.Thread(target=function, args=args, daemon=True).start()


def filled(fill: Fill[T]) -> T:
    return fill()


class Connection:
    """To a host and port, by TLS or not, or to a Unix socket."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._socket = settings, None  # type: Settings, Optional[socket.socket]
        self._is_cut, self._unsent = False, None  # type: bool, Optional[OSError]

    def open(self, deadline: float) -> None:
        if self._socket is not None:
            return
        settings = self._settings
        if settings.unix is not None:
            self._connect(socket.AF_UNIX, settings.unix, deadline)
            return
        failure: OSError = OSError("no address")
        for family, _, _, _, address in self._resolved(settings.host, settings.port, deadline):
            try:
                self._connect(family, address, deadline)
                break
            except OSError as error:
                failure = error
                self.close()
        else:
            raise failure
        assert self._socket is not None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if settings.tls:
            self._socket = settings.tls.wrap_socket(
                self._socket, server_hostname=settings.host, do_handshake_on_connect=False
            )
            self._limit(deadline)
            self._socket.do_handshake()

    def _resolved(self, host: str, port: int, deadline: float) -> list[Any]:
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
            while thread.is_alive() and time.monotonic() < deadline and not self._is_cut:
                thread.join(LOOK_S)
        if failed:
            raise failed[0]
        if not found:
            raise TimeoutError(f"the name {host} was not resolved in time")
        return found

    def _connect(self, family: int, address: Any, deadline: float) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._limit(deadline)
        self._socket.connect(address)
        if self._is_cut:  # a connect that is shut down returns
            raise ConnectionAbortedError("the call was cut")

    def _limit(self, deadline: float) -> None:
        """The time that is left is for all system calls together, not for each."""
        if self._is_cut:
            raise ConnectionAbortedError("the call was cut")
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        assert self._socket is not None
        self._socket.settimeout(left)

    def send(self, content: bytes, deadline: float) -> None:
        """`receive` raises its failure, unless an answer came before that."""
        assert self._socket is not None
        rest = memoryview(content)
        try:
            while rest:
                self._limit(deadline)
                rest = rest[self._socket.send(rest) :]
        except OSError as error:
            self._unsent = error

    def receive(self, deadline: float) -> bytes:
        assert self._socket is not None
        if self._unsent is None:
            self._limit(deadline)
            return self._socket.recv(RECEIVED_MAX)
        try:
            self._socket.settimeout(EARLY_S)
            received = self._socket.recv(RECEIVED_MAX)
        except OSError:
            received = b""
        if not received:
            raise self._unsent
        return received

    def is_idle(self) -> bool:
        """All that was sent has left."""
        return self._unsent is None

    def is_usable(self) -> bool:
        """Not closed by the daemon while it was idle."""
        assert self._socket is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return not selector.select(0)

    def cut(self) -> None:
        """Ends what waits for it, from another thread or a signal handler."""
        self._is_cut = True
        sock = self._socket
        if sock is not None:
            try:  # not SSLSocket.shutdown, which would continue in plain text
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
