"""What is sent, for how long, and whether it is sent again. No I/O happens here.

An operation is a generator of `Call` and `Pause` (`Steps`): it gets the `Response` of each call, or
its `Problem` is raised within. The transports run it, each in its own way.
"""
from __future__ import annotations

import copy
import json
import logging
import math
import os
import random
import socket
import ssl
import time
import uuid
from typing import Any, Callable, Generator, Mapping, NamedTuple, Optional, Protocol, TypeVar, Union
from urllib.parse import quote, unquote, urlencode, urlsplit

from ._http import AnswerReader, BadAnswer, Headers, request_bytes
from ._problems import KINDS, Problem, told, unanswered

T = TypeVar("T")
PAUSE_S, PAUSE_MAX_S, WARN_S = 0.05, 2.0, 60.0
GIVE_UP_MS = 3000.0
log = logging.getLogger("patternd")


def warn(text: str, *more: Any, error: Optional[BaseException] = None) -> None:
    """Handlers and filters of a log are the program's, and what they raise ends no loop."""
    try:
        log.warning(text, *more, exc_info=error)
    except Exception:
        pass


class Response(NamedTuple):
    """`body` is parsed JSON, or text of another type; None when there is none."""

    status: int
    headers: Headers
    body: Any
    sent: float  # time.monotonic() when the attempt that was answered began


class Pause(NamedTuple):
    """A step that waits."""

    seconds: float


class Connected(Protocol):
    def cut(self) -> None: ...


class Cut:
    """Ends the call that uses it, from anywhere."""

    def __init__(self) -> None:
        self.is_cut, self._connection = False, None  # type: bool, Optional[Connected]

    def watch(self, connection: Optional[Connected]) -> None:
        self._connection = connection
        if self.is_cut and connection is not None:
            raise ConnectionAbortedError("the call was cut")

    def cut(self) -> None:
        self.is_cut = True
        if self._connection is not None:
            self._connection.cut()


class Settings:
    """Of a client: where the daemon is, and how long calls may take."""

    def __init__(
        self,
        url: str,
        token: Optional[str],
        timeout_ms: float,
        attempt_ms: float,
        ca_file: Optional[str],
        cert_file: Optional[str],
        key_file: Optional[str],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "http+unix") or not parts.netloc:
            raise ValueError(f"{url!r} is not http://HOST:PORT, https://... or http+unix://%2Fpath%2Fof%2Fsocket")
        self.url, self.token, self.timeout_ms, self.attempt_ms = url, token, timeout_ms, attempt_ms
        self.tls: Optional[ssl.SSLContext] = None
        if parts.scheme == "https":
            self.tls = ssl.create_default_context(cafile=ca_file)
            if cert_file:
                self.tls.load_cert_chain(cert_file, key_file)
        elif ca_file or cert_file or key_file:
            raise ValueError(f"certificates are of no use with {url!r}: it is not https")
        self.unix = unquote(parts.netloc) if parts.scheme == "http+unix" else None
        self.host = "localhost" if self.unix else parts.hostname or ""
        self.port = 0 if self.unix else parts.port or (443 if self.tls else 80)
        self.base = parts.path.rstrip("/")
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.host_header = name if self.unix or not parts.port else f"{name}:{self.port}"
        self._is_away = False

    def saw(self, problem: Optional[Problem], until: str) -> None:
        """Logs the first of several attempts that found no daemon, and nothing of the others."""
        is_away = problem is not None and not problem.was_sent
        if is_away and not self._is_away:
            warn("no connection to %s: %s; %s", self.url, problem and problem.detail, until)
        self._is_away = is_away


def path_of(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def named(worker: Optional[str]) -> Optional[str]:
    """Names the program that has a message, for people."""
    return f"{socket.gethostname()[:150]}/{os.getpid()}" if worker is None else worker or None


def given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


class Call:
    """A request with all its attempts.

    POST and PATCH carry `key` as Idempotency-Key, or one made for the call; other methods may be
    repeated without. key="" sends none, for what may happen twice. `within_ms`: less time than
    `timeout_ms` of the client, where that is more. `is_single`: a failure is not repeated here.
    `undo`: how to release what it grants.
    """

    def __init__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        key: Optional[str] = None,
        wait_ms: float = 0,
        timeout_ms: Optional[float] = None,
        within_ms: Optional[float] = None,
        is_single: bool = False,
        undo: Optional[Undo] = None,
    ) -> None:
        self.method, self.path, self.wait_ms = method, path, wait_ms
        self.timeout_ms, self._within_ms, self._is_single = timeout_ms, within_ms, is_single
        if query:
            self.path += "?" + urlencode(query, doseq=True)
        self._headers = dict(headers or {})
        self._content: Optional[bytes] = None
        if body is not None:
            self._content = json.dumps(body, allow_nan=False).encode()
            self._headers["Content-Type"] = "application/json"
        self._has_key = method in ("POST", "PATCH") and key != ""
        self._key, self._is_own_key = key or str(uuid.uuid4()), bool(key)
        self._is_repeatable, self._is_doubtful, self._step = True, False, PAUSE_S
        self.undo, self.granted = undo, None  # type: Optional[Undo], Optional[Response]
        self.is_sent = False  # an attempt whose end is not known yet

    def begin(self, settings: Settings, now: float) -> None:
        """The time runs from here."""
        self._settings = settings
        timeout_ms = settings.timeout_ms if self.timeout_ms is None else self.timeout_ms
        if self._within_ms is not None:
            timeout_ms = max(min(timeout_ms, self._within_ms), 0)
        if self._has_key:
            self._headers["Idempotency-Key"] = self._key
            if not self._is_own_key:  # one that is made here is of no use after the last attempt
                self._headers["Idempotency-TTL-Ms"] = str(int(timeout_ms + self.wait_ms) + 30000)
        self.deadline = now + (timeout_ms + self.wait_ms) / 1000
        self._attempt_s = (min(settings.attempt_ms, timeout_ms / 3) + self.wait_ms) / 1000
        self.target = settings.base + self.path

    def attempt(self, now: float) -> tuple[bytes, float]:
        """The bytes of the next attempt, and until when it may take."""
        headers = {"Host": self._settings.host_header, **self._headers}
        if self._settings.token:
            headers["Authorization"] = f"Bearer {self._settings.token}"
        content = request_bytes(self.method, self.target, headers, self._content)
        return content, min(self.deadline, now + self._attempt_s)

    def connected_by(self, now: float) -> float:
        """Until when an attempt may take to connect: the daemon does not wait before."""
        return now + self._attempt_s - self.wait_ms / 1000

    @property
    def sent_effect(self) -> str:
        """The effect of an attempt that was sent and not answered."""
        return "none" if self.method in ("GET", "HEAD") else "unknown"

    def unanswered(self, error: BaseException, was_sent: bool) -> Problem:
        effect = self.sent_effect if was_sent else "none"
        is_handshake = self._settings.tls is not None and not was_sent
        if is_handshake and isinstance(error, (ssl.SSLError, ConnectionResetError)):
            if not isinstance(error, ssl.SSLCertVerificationError):
                error = BadAnswer(f"no TLS handshake; is this address http://? {told(error)}")
        return unanswered(self.method, self.target, error, effect, was_sent)

    def reader(self) -> AnswerReader:
        return AnswerReader(self.method == "HEAD")

    def response(self, answer: AnswerReader, began: float) -> Response:
        """What was answered, or raises what was refused."""
        self._settings.saw(None, "")
        status, headers = answer.status, answer.headers
        body: Any = answer.body.decode("utf-8", "replace") or None
        if body and "json" in headers.get("Content-Type", ""):
            try:
                body = json.loads(body)
            except ValueError:
                pass  # of a proxy between: the text is all there is
        is_page = "text/html" in headers.get("Content-Type", "")  # of a proxy: the daemon's are for browsers
        if (status < 300 or status == 304) and not is_page:
            self.granted = Response(status, headers, body, began)
            return self.granted
        if not isinstance(body, dict) or "code" not in body:
            effect = "none" if 300 <= status < 500 else self.sent_effect
            detail = f"a redirect to {headers.get('Location', '')}" if 300 <= status < 400 else str(body)
            detail = "a page, not an answer" if is_page else detail
            body = {"code": f"status_{status}", "detail": detail, "effect": effect}
        seconds = headers.get("Retry-After", "")
        raise KINDS.get(body["code"], Problem)(status, body, float(seconds) if seconds.isdigit() else None)

    def failed(self, problem: Problem, now: float) -> float:
        """How long to wait for the next attempt; raises the problem if none follows."""
        self.is_sent = False
        if problem.code == "idempotency_unavailable" and self._may_drop_key():
            del self._headers["Idempotency-Key"], self._headers["Idempotency-TTL-Ms"]
            self._has_key = self._is_repeatable = False
            return 0
        problem.repeated = self._is_doubtful
        may_pass = problem.status in (0, 502, 503, 504) or problem.code == "request_in_progress"
        is_refused = problem.effect == "none" and 400 <= problem.status < 500 and not may_pass
        self._is_doubtful = problem.effect == "unknown" or self._is_doubtful and not is_refused
        if self._is_single or not {"unknown": self._is_repeatable, "none": may_pass}.get(problem.effect):
            raise problem from None
        pause = self._step * random.uniform(0.5, 1) + (problem.retry_after or 0)
        self._step = min(self._step * 2, PAUSE_MAX_S)
        if now + pause >= self.deadline:
            problem.effect = "unknown" if self._is_doubtful else problem.effect
            raise problem from None
        self._settings.saw(problem, f"it is tried for {self.deadline - now:.3g} s more")
        return pause

    @property
    def may_hold(self) -> bool:
        """Whether it has been granted something, or may be: with its key it can be asked again."""
        return self.granted is not None or (self._has_key and (self._is_doubtful or self.is_sent))

    def again(self) -> Call:
        """The very same request, of which the daemon has a record if it granted something. Where it
        has none, a request that waits is not answered at once, and is left."""
        same = copy.copy(self)
        same._headers, same._within_ms, same._is_single = dict(self._headers), None, self.wait_ms > 0
        same.timeout_ms, same.wait_ms = GIVE_UP_MS / 2 if self.wait_ms > 0 else GIVE_UP_MS, 0
        return same

    def _may_drop_key(self) -> bool:
        """A quorum of lock servers, or several slots, have no place for a record."""
        return self._has_key and not self._is_own_key and not self._is_doubtful


Steps = Generator[Union[Call, Pause], Response, T]


class Undo(NamedTuple):
    """How to release what a call granted: `of` makes a call of the body of its answer, or None if
    that granted nothing. A read of `path` is answered when Redis is well."""

    path: str
    of: Callable[[Any], Optional[Call]]


def give_up(call: Call, undo: Undo) -> Steps[None]:
    """Releases what a call that was ended may have been granted."""
    granted = call.granted
    if granted is None:
        if call.wait_ms > 0:
            try:
                yield Call("GET", undo.path, timeout_ms=GIVE_UP_MS)
            except Problem:
                pass  # such as a token that may not read
        granted = yield call.again()
    back = undo.of(granted.body)
    if back is not None:
        yield back


class Outage:
    """Of a loop that never ends: how long it pauses, and what it logs, at most once a
    minute."""

    def __init__(self, what: str) -> None:
        self._what, self._step = what, PAUSE_S
        self._began: Optional[float] = None
        self._warned_at, self._has_warned = -math.inf, False

    def failed(self, problem: Problem) -> float:
        """The pause before the next attempt: random, growing to 5 s, and what Retry-After asks."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        if now - self._warned_at >= WARN_S:
            self._warned_at, self._has_warned = now, True
            warn("%s has failed for %.0f s, and goes on: %s", self._what, now - self._began, problem)
        pause = self._step * random.uniform(0.5, 1) + min(problem.retry_after or 0, 60)
        self._step = min(self._step * 2, 5.0)
        return pause

    def ended(self) -> None:
        if self._began is not None and self._has_warned:
            warn("%s works again after %.0f s", self._what, time.monotonic() - self._began)
        self._began, self._step, self._has_warned = None, PAUSE_S, False

    @staticmethod
    def may_pass(problem: Problem) -> bool:
        """Whether the same request may succeed later."""
        return problem.status in (0, 408, 409, 429) or problem.status >= 500
