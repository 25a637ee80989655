"""HTTP/1.1 as a client speaks it, and server-sent events, in bytes: no socket is used here."""
from __future__ import annotations

import re
from typing import Iterator, Mapping, NamedTuple, Optional

HEAD_MAX, LINE_MAX = 65536, 1024
TLS_ALERT = "\x15\x03"  # of a server that expected a TLS handshake
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
TARGET = re.compile(r"[\x21-\x7e]+")


class BadAnswer(Exception):
    """Bytes that are not an answer of HTTP/1.1, or the end of the connection within one."""


class Headers(Mapping[str, str]):
    """The headers of an answer, by their names in any case."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = {name.lower(): value for name, value in fields.items()}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({self._fields!r})"


def request_bytes(method: str, target: str, headers: Mapping[str, str], content: Optional[bytes]) -> bytes:
    """A request; ValueError for what would not be one."""
    if not TOKEN.fullmatch(method) or not TARGET.fullmatch(target):
        raise ValueError(f"{method!r} {target!r} is not a request: percent-encode the path")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or not FIELD_VALUE.fullmatch(value):
            raise ValueError(f"{name!r}: {value!r} is not a header")
        lines.append(f"{name}: {value}")
    if content is not None or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(content or b'')}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (content or b"")


class AnswerReader:
    """Reads one answer from the bytes that are fed to it.

    `status` and `headers` are set once the head is complete, and `body` grows until `is_complete`.
    A caller that wants a stream takes the bytes out of `body`.
    """

    def __init__(self, is_head_request: bool = False) -> None:
        self.status, self.headers, self.body = 0, Headers({}), bytearray()
        self.is_complete, self.is_reusable = False, False
        self._is_head_request = is_head_request
        self._buffer, self._left = bytearray(), 0
        self._step = self._read_head

    def feed(self, data: bytes) -> None:
        """Takes what was received; no bytes are the end of the connection."""
        if not data and not self.status and not self._buffer:
            raise BadAnswer("the connection was closed without an answer: is this the address of a patternd?")
        if not data:
            raise BadAnswer("the connection was closed before the end of the answer")
        self._buffer += data
        while not self.is_complete and self._step():
            pass
        if self.is_complete and self._buffer:
            self.is_reusable = False

    def _line(self, limit: int, end: bytes = b"\r\n") -> Optional[str]:
        at = self._buffer.find(end)
        if at > limit or (at < 0 and len(self._buffer) > limit):
            raise BadAnswer("a line of the answer is too long")
        if at < 0:
            return None
        line = self._buffer[:at].decode("latin-1")
        del self._buffer[: at + len(end)]
        return line

    def _read_head(self) -> bool:
        is_alert = self._buffer.startswith(TLS_ALERT.encode())
        head = bytes(self._buffer).decode("latin-1") if is_alert else self._line(HEAD_MAX, b"\r\n\r\n")
        if head is None:
            return False
        first, *fields = head.split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            hint = "; is this address https://?" if first.startswith(TLS_ALERT) else ""
            raise BadAnswer(f"not an answer of HTTP/1.1: {first[:80]!r}{hint}")
        pairs = [field.partition(":")[::2] for field in fields]
        self.status, self.headers = int(rest[:3]), Headers({name: value.strip() for name, value in pairs})
        if self.status < 200:
            return True  # an interim answer
        self.is_reusable = version == "HTTP/1.1" and self.headers.get("Connection", "").lower() != "close"
        length = self.headers.get("Content-Length")
        if self._is_head_request or self.status in (204, 304):
            self.is_complete = True
        elif self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            self._step = self._read_chunk_size
        elif length is not None and length.isdigit():
            self._left, self._step = int(length), self._read_content
        else:
            raise BadAnswer("the answer has no length")  # headers that were cut off look like whole ones
        return True

    def _read_content(self) -> bool:
        piece = self._buffer[: self._left]
        del self._buffer[: len(piece)]
        self.body += piece
        self._left -= len(piece)
        self.is_complete = self._left == 0
        return False

    def _read_chunk_size(self) -> bool:
        line = self._line(LINE_MAX)
        if line is None:
            return False
        size = line.partition(";")[0].strip()
        if not re.fullmatch("[0-9A-Fa-f]{1,8}", size):
            raise BadAnswer(f"not the size of a chunk: {line[:80]!r}")
        self._left = int(size, 16)
        self._step = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self) -> bool:
        if self._left:
            piece = self._buffer[: self._left]
            del self._buffer[: len(piece)]
            self.body += piece
            self._left -= len(piece)
            return bool(piece)
        line = self._line(LINE_MAX)
        if line:
            raise BadAnswer("a chunk is longer than its size")
        self._step = self._read_chunk_size if line == "" else self._step
        return line == ""

    def _read_trailer(self) -> bool:
        line = self._line(LINE_MAX)
        self.is_complete = line == ""
        return bool(line)


class Event(NamedTuple):
    """A server-sent event."""

    type: str
    data: str


class EventReader:
    """Reads server-sent events from the bytes that are fed to it. Comments are left out."""

    def __init__(self) -> None:
        self._buffer, self._type, self._data = bytearray(), "", list[str]()

    def feed(self, data: bytes) -> list[Event]:
        self._buffer += data
        events = []
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        for line in lines:
            name, _, value = line.decode("utf-8", "replace").rstrip("\r").partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "event":
                self._type = value
            elif name == "data":
                self._data.append(value)
            elif not name and not value and not line.startswith(b":"):
                if self._data:
                    events.append(Event(self._type or "message", "\n".join(self._data)))
                self._type, self._data = "", []
        return events
