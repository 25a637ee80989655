"""Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON.

A `Client` is for all threads of a program, and for its forked children: each request takes a
connection from a pool. `Client.request` reaches every other pattern.

A request that failed is repeated by what its failure did. Effect `none` (503, no connection): again
after Retry-After, or a growing random pause. Effect `unknown` (504, a broken connection): the same
request with the same Idempotency-Key. Any other failure, and the end of the time, raise `Problem`.
"""
from __future__ import annotations

import http.client
import io
import json
import math
import os
import random
import selectors
import socket
import ssl
import threading
import time
import uuid
from typing import Any, Callable, Generator, Iterable, Mapping, NamedTuple, TypeVar, cast
from urllib.parse import quote, unquote, urlencode, urlsplit

__all__ = ["Client", "Problem", "LockHeld", "LockLost", "Lock", "Queue", "Message", "Decision", "Response"]

T = TypeVar("T")
PAUSE_S, PAUSE_MAX_S = 0.05, 2.0


class Problem(Exception):
    """A request that was refused or failed (RFC 9457).

    `effect`: whether it changed anything ("none", "applied", "unknown"). `retry_after`: in seconds.
    Without an answer `status` is 0 and `code` "no_connection". `repeated`: an earlier attempt was
    not answered, and may have done it.
    """

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(status, body, retry_after)
        self.status, self.body, self.retry_after = status, dict(body), retry_after
        self.code, self.detail = str(body.get("code")), str(body.get("detail", ""))
        self.effect, self.repeated = str(body.get("effect", "unknown")), False

    def __str__(self) -> str:
        return f"{self.code}: {self.detail or self.body.get('title')}"


class LockHeld(Problem):
    """The lock is held by another client, also after `wait_ms`."""


class LockLost(Problem):
    """The lock expired or was released by force: another client may hold it."""


KINDS: dict[str, type[Problem]] = {"lock_held": LockHeld, "not_holder": LockLost}


class Response(NamedTuple):
    """`body` is parsed JSON, or text of another type; None when there is none."""

    status: int
    headers: http.client.HTTPMessage
    body: Any
    sent: float  # time.monotonic() when the attempt that was answered began


class Decision(NamedTuple):
    """Of a rate limit. `capacity` fits at once; `retry_after_ms` is None when it is allowed."""

    allowed: bool
    remaining: int
    retry_after_ms: int | None
    limit: int
    window_ms: int
    capacity: int
    reset_after_ms: int
    policy: str | None
    degraded: bool


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _path(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


class _Reader(io.RawIOBase):
    """Reads a socket until a deadline for all reads together, not for each."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock, self.deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.sock.settimeout(max(self.deadline - time.monotonic(), 0.001))
        return self.sock.recv_into(buffer)


class _Connection(http.client.HTTPConnection):
    """To a host and port, by TLS or not, or to a Unix socket."""

    def __init__(self, client: Client) -> None:
        super().__init__(client._host, client._port)
        self.client = client

    def connect(self) -> None:
        if self.client._unix is not None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self.client._unix)
            return
        super().connect()
        if self.client._tls:
            self.sock = self.client._tls.wrap_socket(self.sock, server_hostname=self.host)

    def is_stale(self) -> bool:
        """Whether the daemon closed it while it was idle."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def answer(self, deadline: float) -> tuple[int, http.client.HTTPMessage, bytes]:
        def respond(sock: socket.socket, *more: Any, **named: Any) -> http.client.HTTPResponse:
            response = http.client.HTTPResponse(sock, *more, **named)
            self.of_socket, response.fp = response.fp, io.BufferedReader(_Reader(sock, deadline))
            return response

        self.response_class = respond  # type: ignore[assignment]
        response = self.getresponse()
        try:
            if response.status not in (204, 304) and response.length is None and not response.chunked:
                raise http.client.IncompleteRead(b"")  # headers that were cut off look like whole ones
            return response.status, response.headers, response.read()
        finally:
            response.close()
            self.of_socket.close()


class Client:
    """Of the daemon at `url`: http://HOST:PORT, https://..., or http+unix://%2Fpath%2Fof%2Fsocket.

    `timeout_ms` bounds a call with all its attempts, `attempt_ms` one of them; both without
    `wait_ms`, the time that the daemon is asked to wait.
    """

    def __init__(self, url: str, token: str | None = None, timeout_ms: int = 30000, attempt_ms: int = 5000) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "http+unix") or not parts.netloc:
            raise ValueError(f"{url!r} is not http://HOST:PORT, https://... or http+unix://%2Fpath%2Fof%2Fsocket")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._unix = unquote(parts.netloc) if parts.scheme == "http+unix" else None
        self._host = "localhost" if self._unix else parts.hostname or ""
        self._port = None if self._unix else parts.port or (443 if self._tls else 80)
        self._base = parts.path.rstrip("/")
        self._token, self.timeout_ms, self.attempt_ms = token, timeout_ms, attempt_ms
        self._idle: list[_Connection] = []
        self._pid = os.getpid()

    def close(self) -> None:
        """Closes idle connections. The client can be used again."""
        while self._idle:
            self._idle.pop().close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        wait_ms: int = 0,
        timeout_ms: float | None = None,
    ) -> Response:
        """Any operation of the daemon but streams; `path` is percent-encoded.

        POST and PATCH carry `key` as Idempotency-Key, or one made for the call; other methods may
        be repeated without. key="" sends none, for what may happen twice.
        """
        sent, content = dict(headers or {}), None
        if body is not None:
            content, sent["Content-Type"] = json.dumps(body, allow_nan=False).encode(), "application/json"
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        timeout_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        has_key = method in ("POST", "PATCH") and key != ""
        if has_key:  # one that is made here is of no use after the last attempt
            made = {"Idempotency-TTL-Ms": str(int(timeout_ms + wait_ms) + 30000)}
            sent |= {"Idempotency-Key": key} if key else {"Idempotency-Key": str(uuid.uuid4())} | made
        target = self._base + path + ("?" + urlencode(query, doseq=True) if query else "")
        deadline = time.monotonic() + (timeout_ms + wait_ms) / 1000
        attempt_s = (min(self.attempt_ms, timeout_ms / 3) + wait_ms) / 1000
        is_repeatable, is_doubtful, step = True, False, PAUSE_S
        while True:
            try:
                return self._attempt(method, target, content, sent, min(deadline, time.monotonic() + attempt_s))
            except Problem as problem:
                if problem.code == "idempotency_unavailable" and has_key and key is None and not is_doubtful:
                    del sent["Idempotency-Key"]  # a quorum of lock servers, or several slots
                    has_key = is_repeatable = False
                    continue
                problem.repeated = is_doubtful
                is_doubtful |= problem.effect == "unknown"
                may_pass = problem.status in (0, 502, 503, 504) or problem.code == "request_in_progress"
                if not {"unknown": is_repeatable, "none": may_pass}.get(problem.effect):
                    raise
                pause, step = step * random.uniform(0.5, 1) + (problem.retry_after or 0), min(step * 2, PAUSE_MAX_S)
                if time.monotonic() + pause >= deadline:
                    problem.effect = "unknown" if is_doubtful else problem.effect
                    raise
                time.sleep(pause)

    def _attempt(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str], deadline: float
    ) -> Response:
        began, connection, effect = time.monotonic(), self._take(), "none"
        try:
            connection.timeout = max(deadline - began, 0.001)
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(connection.timeout)  # type: ignore[union-attr]
            effect = "none" if method in ("GET", "HEAD") else "unknown"
            connection.request(method, target, content, headers)
            status, answered, text = connection.answer(deadline)
        except BaseException as error:
            connection.close()
            if not isinstance(error, (OSError, http.client.HTTPException)) or isinstance(error, http.client.InvalidURL):
                raise
            reply = {"code": "no_connection", "detail": f"{method} {target}: {error!r}", "effect": effect}
            raise Problem(0, reply) from error
        if connection.sock is not None:  # else the daemon closes it
            self._idle.append(connection)
        body: Any = text.decode("utf-8", "replace") or None
        body = json.loads(body) if body and "json" in answered.get("Content-Type", "") else body
        if status < 400:
            return Response(status, answered, body, began)
        if not isinstance(body, dict) or "code" not in body:  # of a proxy between
            body = {"code": f"status_{status}", "detail": str(body), "effect": effect if status >= 500 else "none"}
        seconds = answered.get("Retry-After", "")
        raise KINDS.get(body["code"], Problem)(status, body, float(seconds) if seconds.isdigit() else None)

    def _take(self) -> _Connection:
        if self._pid != os.getpid():  # after a fork the connections are the parent's
            self._pid, self._idle = os.getpid(), []
        try:
            while (connection := self._idle.pop()).is_stale():
                connection.close()
            return connection
        except IndexError:
            return _Connection(self)

    def lock(self, name: str, ttl_ms: int = 30000, wait_ms: int = 0, *, owner: str | None = None, **more: Any) -> Lock:
        """A lock for `with`: acquired on entry, renewed by a thread, released at the end.

        Raises LockHeld on entry when it is not free within `wait_ms`, and LockLost at the end when
        it was lost meanwhile. `more`: other members of the request (mode, metadata, min_replicas).
        """
        return Lock(self, name, ttl_ms, wait_ms, _given(owner=owner, **more))

    def queue(self, name: str) -> Queue:
        return Queue(self, name)

    def limit(self, key: str, limit: int | None = None, window_ms: int | None = None, **more: Any) -> Decision:
        """Counts a call if `limit` per `window_ms` has room for it.

        `more`: other members of the request (policy, burst, algorithm, cost, wait_ms).
        """
        wait_ms, body = more.get("wait_ms") or 0, _given(key=key, limit=limit, window_ms=window_ms, **more)
        try:
            reply = self.request("POST", "/ratelimit", body, key="", wait_ms=wait_ms).body
        except Problem as problem:
            if problem.code != "rate_limited":
                raise
            reply = problem.body
        return Decision(*(reply[member] for member in Decision._fields))

    def cached(self, key: str, ttl_ms: int, fill: Callable[[], T], *, fill_ms: int = 5000, jitter_ms: int = 0) -> T:
        """The value of `key`, or what `fill` returns, which is stored for `ttl_ms`.

        Of all callers one runs `fill`, for at most `fill_ms`; the others wait at the daemon, for at
        most `timeout_ms`. When `fill` raises or takes longer, the next caller runs its own.
        """
        path, deadline = _path("cache", key), time.monotonic() + self.timeout_ms / 1000
        while True:
            wait_ms = min(max(int((deadline - time.monotonic()) * 1000), 0), 60000)
            try:
                body = {"fill_ms": fill_ms, "wait_ms": wait_ms}
                response = self.request("POST", path + "/fill", body, wait_ms=wait_ms)
                break
            except Problem as problem:
                if problem.code not in ("cache_fill_in_progress", "ticket_expired") or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0.5, 1) * PAUSE_S)  # a daemon that stops lets none wait
        if response.status == 200:
            return cast(T, response.body["value"])
        value, ticket = fill(), {"Fill-Ticket": response.body["ticket"]}
        try:
            stored = {"value": value, "ttl_ms": ttl_ms, "jitter_ms": jitter_ms}
            self.request("PUT", path, stored, headers=ticket, timeout_ms=response.body["ttl_ms"])
        except Problem as problem:  # a value that could not be stored is still the value
            if 400 <= problem.status < 500 and problem.code != "ticket_expired":
                raise
        return value


class _Lease:
    """What a thread extends until it ends or is lost; 1 % is left to clocks that run apart."""

    def __init__(self, client: Client, path: str) -> None:
        self.lost = threading.Event()
        self._client, self._path, self._headers = client, path, dict[str, str]()
        self._ended, self._is_ending, self._expires = threading.Event(), False, 0.0

    def _keep(self, time_ms: int, extension: dict[str, Any], until: float = math.inf) -> None:
        threading.Thread(target=self._run, args=(time_ms / 1000, extension, until), daemon=True).start()

    def _extend(self, extension: dict[str, Any], timeout_ms: float) -> float:
        path, headers = self._path + "/extend", self._headers
        answer = self._client.request("POST", path, extension, headers=headers, key="", timeout_ms=timeout_ms)
        return answer.sent + float(answer.body.get("ttl_ms") or extension["visibility_ms"]) * 0.00099

    def _run(self, time_s: float, extension: dict[str, Any], until: float) -> None:
        pause = min(time_s, self._expires - time.monotonic()) / 3
        while not self._ended.wait(pause):
            remaining = self._expires - time.monotonic()
            if remaining <= 0:
                break
            pause = remaining
            try:
                if time.monotonic() < until:
                    self._expires = self._extend(extension, remaining * 1000)
                    pause = time_s / 3
            except Problem as problem:
                if problem.code in ("not_holder", "receipt_expired"):
                    break
                remaining = max(self._expires - time.monotonic(), 0)
                pause = min(remaining, max(PAUSE_S, min(remaining / 4, PAUSE_MAX_S)))
        if not self._is_ending:
            self.lost.set()


class Lock(_Lease):
    """Made by Client.lock. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(self, client: Client, name: str, ttl_ms: int, wait_ms: int, more: dict[str, Any]) -> None:
        super().__init__(client, _path("locks", name))
        self.name, self.ttl_ms, self.wait_ms, self.fence, self._more = name, ttl_ms, wait_ms, 0, more

    def acquire(self) -> Lock:
        if self._headers:
            raise RuntimeError(f"lock {self.name!r} was acquired before: make another by Client.lock")
        body = {"ttl_ms": self.ttl_ms, **self._more, **_given(wait_ms=self.wait_ms or None)}
        response = self._client.request("POST", self._path, body, wait_ms=self.wait_ms)
        granted = response.body
        self.fence, self._headers = granted["fence"], {"Lock-Token": granted["token"]}
        waited_ms = 0 if response.headers.get("Idempotent-Replayed") else granted["waited_ms"]
        self._expires = response.sent + (waited_ms + granted["ttl_ms"] * 0.99) / 1000
        self._keep(self.ttl_ms, {"ttl_ms": self.ttl_ms})
        return self

    def release(self) -> None:
        """Raises LockLost when it was lost before. A lock that cannot be released expires."""
        self._is_ending = True
        self._ended.set()
        remaining_ms = (self._expires - time.monotonic()) * 1000
        try:
            if self.lost.is_set() or remaining_ms <= 0:
                raise LockLost(0, {"code": "not_holder", "effect": "none", "detail": f"'{self.name}' has expired"})
            self._client.request("DELETE", self._path, headers=self._headers, timeout_ms=remaining_ms)
        except Problem as problem:  # repeated: an attempt without an answer released it, and another acquired it
            if problem.code == "not_holder" and not problem.repeated:
                self.lost.set()
                raise

    def __enter__(self) -> Lock:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise


class Message(_Lease):
    """A delivery. `lost` is set when another worker may have it.

    As a context manager it is acknowledged at the end, and rejected when the block raises.
    """

    def __init__(self, client: Client, queue: str, reply: dict[str, Any]) -> None:
        super().__init__(client, _path("queues", queue, "deliveries", reply["receipt"]))
        self.queue, self.id, self.body = queue, str(reply["id"]), reply["body"]
        self.receives, self.priority, self.sent_at_ms = reply["receives"], reply["priority"], reply["sent_at_ms"]
        self.traceparent: str | None = reply.get("traceparent")
        self.headers: dict[str, str] = reply.get("headers") or {}

    def acknowledge(self) -> bool:
        """Removes the message for good. False: the delivery had ended, the message comes again."""
        return self._settle("DELETE", self._path, None)

    def reject(self, delay_ms: int | None = None, *, reason: str | None = None, dead: bool = False) -> bool:
        """Returns it to the queue, due after `delay_ms` or the backoff; or makes it dead."""
        reason = reason and reason.encode("utf-8", "replace")[:1000].decode("utf-8", "ignore")
        body = _given(delay_ms=delay_ms, reason=reason or None, dead=dead or None)
        return self._settle("POST", self._path + "/reject", body)

    def _settle(self, method: str, path: str, body: Any) -> bool:
        if self._is_ending:
            return False
        self._is_ending = True  # it is extended as long as the request takes
        try:
            self._client.request(method, path, body)
            return True
        except Problem as problem:
            if problem.code != "receipt_expired":
                raise
            return problem.repeated and method == "POST"  # an attempt without an answer has rejected it
        finally:
            self._ended.set()

    def __enter__(self) -> Message:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is None:
                self.acknowledge()
            else:
                self.reject(reason="the loop ended" if kind is GeneratorExit else f"{kind.__name__}: {error}")
        except Problem:
            if kind is None:  # else what the block raised matters more: the message comes again
                raise


class Queue:
    """Made by Client.queue."""

    def __init__(self, client: Client, name: str) -> None:
        self.name, self._client, self._path = name, client, _path("queues", name)

    def send(self, body: Any, *, id: str | None = None, delay_ms: int | None = None, **more: Any) -> dict[str, Any]:
        """Returns {"id", "duplicate", "deliver_at_ms"}. Of one `id`, made if absent, one is kept.

        `more`: its other members (deliver_at_ms, priority, ttl_ms, headers, traceparent).
        """
        return self.send_many([_given(id=id, delay_ms=delay_ms, **more) | {"body": body}])[0]

    def send_many(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Up to 100 messages, all or none: {"body": ..., "id": ..., "delay_ms": ...}."""
        given = list(messages)
        batch = [{**m, "id": m.get("id") or uuid.uuid4().hex} for m in given]
        sent = self._client.request("POST", self._path + "/messages", {"messages": batch}, key="").body["messages"]
        return [s | {"duplicate": s["duplicate"] and bool(m.get("id"))} for s, m in zip(sent, given)]

    def receive(
        self, wait_ms: int = 0, visibility_ms: int = 30000, max_work_ms: int = 3600000, worker: str | None = None
    ) -> Message | None:
        """One message, or None. A thread extends it until it is settled: `max_work_ms` at most."""
        extension = {"visibility_ms": visibility_ms}
        body = extension | _given(wait_ms=wait_ms, worker=worker)
        response = self._client.request("POST", self._path + "/receive", body, wait_ms=wait_ms)
        began, until = response.sent, time.monotonic() + max_work_ms / 1000
        for reply in response.body["messages"]:
            message = Message(self._client, self.name, reply)
            message._expires = began + visibility_ms * 0.00099
            try:  # when it is not known how long the delivery has lasted, an extension makes it sure
                if response.headers.get("Idempotent-Replayed") or time.monotonic() - began > visibility_ms / 3000:
                    message._expires = message._extend(extension, visibility_ms)
            except Problem as problem:
                if problem.code != "receipt_expired":
                    raise
                return None
            message._keep(visibility_ms, extension, until)
            return message
        return None

    def messages(
        self, stop: threading.Event | None = None, wait_ms: int | None = None, **more: Any
    ) -> Generator[Message, None, None]:
        """Messages, one after the other, until `stop` is set; `more` goes to `receive`.

        A message is acknowledged when the loop asks for the next one. It is rejected when the loop
        is left before that: by an exception, `break` or `return`, which look alike from here. That
        happens at once in CPython when only the loop refers to this iterator; `with message:` in
        the loop does not depend on it. `stop` is looked at each `wait_ms`: 1 s, or 20 s without it.
        """
        wait_ms = wait_ms if wait_ms is not None else 20000 if stop is None else 1000
        while stop is None or not stop.is_set():
            if (message := self.receive(wait_ms, **more)) is not None:
                with message:
                    yield message
