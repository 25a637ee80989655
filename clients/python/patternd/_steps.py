"""The operations, as steps that both transports run: what is sent, and what its answer means."""
from __future__ import annotations

import json
import random
import time
import uuid
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from ._http import Event
from ._lease import SAFE, Lease
from ._problems import ENDED, Problem
from ._requests import PAUSE_S, Call, Pause, Steps, Undo, given, path_of

if TYPE_CHECKING:
    from .types import SentMessage


class Decision(NamedTuple):
    """Of a rate limit. `capacity` fits at once; `retry_after_ms` is None when it is allowed."""

    allowed: bool
    remaining: int
    retry_after_ms: Optional[int]
    limit: int
    window_ms: int
    capacity: int
    reset_after_ms: int
    policy: Optional[str]
    degraded: bool


class Granted(NamedTuple):
    """Of a lock. `expires` is an instant of time.monotonic()."""

    fence: int
    token: str
    expires: float


class Delivered(NamedTuple):
    """A message as it came, and until when its delivery lasts at least."""

    row: dict[str, Any]
    expires: float


class Filling(NamedTuple):
    """Of a cache: the value, or the ticket to make it and for how many ms it lasts."""

    value: Any
    ticket: Optional[str]
    ttl_ms: float


def plain(*what: Any, **options: Any) -> Steps[Any]:
    """One request, and the body of its answer."""
    return (yield Call(*what, **options)).body


def limit(body: dict[str, Any]) -> Steps[Decision]:
    """A decision carries no key: an attempt without an answer may count."""
    try:
        reply = (yield Call("POST", "/ratelimit", body, key="", wait_ms=body.get("wait_ms", 0))).body
    except Problem as problem:
        if problem.code != "rate_limited":
            raise
        reply = problem.body
    return Decision(*(reply[member] for member in Decision._fields))


def cache_open(key: str, fill_ms: int, timeout_ms: float) -> Steps[Filling]:
    """The value, or the ticket; of all callers one gets it, and the others wait at the daemon."""
    path, deadline = path_of("cache", key) + "/fill", time.monotonic() + timeout_ms / 1000
    while True:
        left_ms = max((deadline - time.monotonic()) * 1000, 0)
        wait_ms = min(int(left_ms / 2), 60000)  # the rest is for attempts without an answer
        try:
            body = {"fill_ms": fill_ms, "wait_ms": wait_ms}
            response = yield Call("POST", path, body, wait_ms=wait_ms, within_ms=left_ms - wait_ms)
            break
        except Problem as problem:
            if problem.code not in ("cache_fill_in_progress", "ticket_expired") or time.monotonic() > deadline:
                raise
        yield Pause(random.uniform(0.5, 1) * PAUSE_S)  # a daemon that stops lets none wait
    if response.status == 200:
        return Filling(response.body["value"], None, 0)
    return Filling(None, str(response.body["ticket"]), response.body["ttl_ms"])


def cache_store(key: str, filling: Filling, stored: dict[str, Any]) -> Steps[None]:
    """A value that could not be stored is still the value."""
    headers = {"Fill-Ticket": filling.ticket or ""}
    try:
        yield Call("PUT", path_of("cache", key), stored, headers=headers, within_ms=filling.ttl_ms)
    except Problem as problem:
        if 400 <= problem.status < 500 and problem.code != "ticket_expired":
            raise


def lock_call(name: str, body: dict[str, Any]) -> Call:
    path = path_of("locks", name)

    def undo(granted: dict[str, Any]) -> Call:
        return Call("DELETE", path, headers={"Lock-Token": granted["token"]})

    return Call("POST", path, body, wait_ms=body.get("wait_ms", 0), undo=Undo(path, undo))


def lock_acquire(call: Call) -> Steps[Granted]:
    response = yield call
    granted = response.body
    waited_ms = 0 if response.headers.get("Idempotent-Replayed") else granted["waited_ms"]
    return Granted(granted["fence"], granted["token"], response.sent + waited_ms / 1000 + granted["ttl_ms"] * SAFE)


def lock_extend(name: str, token: str, ttl_ms: float, leases: Sequence[Lease], within_ms: float) -> Steps[None]:
    """Of the one lease of a lock."""
    headers = {"Lock-Token": token}
    path = path_of("locks", name) + "/extend"
    answer = yield Call("POST", path, {"ttl_ms": ttl_ms}, headers=headers, key="", within_ms=within_ms)
    leases[0].extended(answer.sent + float(answer.body["ttl_ms"]) * SAFE)


def lock_release(name: str, token: str, left_ms: float) -> Steps[bool]:
    """False: it was lost before. A lock that cannot be released expires."""
    try:
        yield Call("DELETE", path_of("locks", name), headers={"Lock-Token": token}, within_ms=left_ms)
    except Problem as problem:  # repeated: an attempt without an answer released it, and another acquired it
        return problem.code != "not_holder" or problem.repeated
    return True


def is_known(row: Mapping[str, Any], told: SentMessage, sent: Mapping[str, Any]) -> bool:
    """False: a message is a duplicate of itself only, by the id that was made for it."""
    return bool(row.get("id")) or told["id"] != sent["id"]


def send(
    queue: str, messages: Iterable[Mapping[str, Any]], wait_ms: float = 0, must_exist: bool = False
) -> Steps[list[SentMessage]]:
    """A message without an id gets one, by which it is stored once: no key is needed."""
    rows = list(messages)
    batch = [{**row, "id": row.get("id") or uuid.uuid4().hex} for row in rows]
    # A single message is sent by itself: some options, such as wait_result_ms, are of one message.
    body: dict[str, Any] = batch[0] if len(batch) == 1 else {"messages": batch}
    if must_exist:
        body["must_exist"] = True
    sent = (yield Call("POST", path_of("queues", queue) + "/messages", body, key="", wait_ms=wait_ms)).body["messages"]
    known = [is_known(*one) for one in zip(rows, sent, batch)]
    return [told | {"duplicate": told["duplicate"] and one} for told, one in zip(sent, known)]


def receive_call(queue: str, body: dict[str, Any]) -> Call:
    path = path_of("queues", queue)

    def undo(received: dict[str, Any]) -> Optional[Call]:
        rows = [{"receipt": row["receipt"], **rejection(0, counted=False)} for row in received["messages"]]
        return Call("POST", path + "/settle", {"reject": rows}, key="") if rows else None

    return Call("POST", path + "/receive", body, wait_ms=body.get("wait_ms", 0), undo=Undo(path, undo))


def receive(queue: str, call: Call, visibility_ms: float) -> Steps[Optional[Delivered]]:
    """One message. Its key gives an attempt that was not answered its delivery again."""
    response = yield call
    for row in response.body["messages"]:
        expires = response.sent + visibility_ms * SAFE
        try:  # when it is not known how long the delivery has lasted, an extension makes it sure
            is_replay = response.headers.get("Idempotent-Replayed")
            if is_replay or time.monotonic() - response.sent > visibility_ms / 3000:
                expires = yield from delivery_extend(queue, row["receipt"], {"visibility_ms": visibility_ms})
        except Problem as problem:
            if problem.code not in ENDED:
                raise
            return None
        return Delivered(row, expires)
    return None


def delivery_extend(
    queue: str, receipt: str, body: dict[str, Any], within_ms: Optional[float] = None
) -> Steps[float]:
    path = path_of("queues", queue, "deliveries", receipt) + "/extend"
    within_ms = body["visibility_ms"] if within_ms is None else within_ms
    answer = yield Call("POST", path, body, key="", within_ms=within_ms)
    return answer.sent + float(body["visibility_ms"]) * SAFE


def deliveries_extend(queue: str, visibility_ms: float, leases: Sequence[Lease], within_ms: float) -> Steps[None]:
    """Extends many deliveries by one request. Each has its receipt as the name of its lease."""
    body = {"receipts": [lease.name for lease in leases], "visibility_ms": visibility_ms}
    answer = yield Call("POST", path_of("queues", queue) + "/extend", body, key="", within_ms=within_ms)
    outcomes = {row["receipt"]: row["outcome"] for row in answer.body["deliveries"]}
    for lease in leases:
        if outcomes[lease.name] == "extended":
            lease.extended(answer.sent + visibility_ms * SAFE)
        else:
            lease.lose()


def delivery_acknowledge(queue: str, receipt: str, result: Any, late: bool) -> Steps[bool]:
    """False: the delivery had ended."""
    if result is not None:
        body = {"complete": [{"receipt": receipt, "result": result}], **given(late=late or None)}
        rows = (yield Call("POST", path_of("queues", queue) + "/settle", body, key="")).body["deliveries"]
        return bool(rows[0]["outcome"] != "not_current")
    try:
        query = {"late": "true"} if late else None
        yield Call("DELETE", path_of("queues", queue, "deliveries", receipt), query=query)
    except Problem as problem:
        if problem.code not in ENDED:
            raise
        return False
    return True


def delivery_reject(queue: str, receipt: str, body: dict[str, Any]) -> Steps[bool]:
    """False: the delivery had ended. One that an attempt without an answer ended was rejected."""
    try:
        yield Call("POST", path_of("queues", queue, "deliveries", receipt) + "/reject", body)
    except Problem as problem:
        if problem.code not in ENDED:
            raise
        return problem.repeated
    return True


def rejection(
    delay_ms: Optional[float], reason: Optional[str] = None, dead: bool = False, counted: bool = True
) -> dict[str, Any]:
    reason = reason and reason.encode("utf-8", "replace")[:1000].decode("utf-8", "ignore")
    return given(delay_ms=delay_ms, reason=reason or None, dead=dead or None, counted=None if counted else False)


def page(path: str, query: Mapping[str, Any]) -> Steps[tuple[list[Any], Optional[str]]]:
    """A page of a list, and the cursor of the next."""
    reply = (yield Call("GET", path, query=query)).body
    return reply["items"], reply["next_cursor"]


class TopicEvent(NamedTuple):
    """What a topic's listener gets. `type` "gap": messages before it may be lost, so read again
    what they are about. Only a "message" has a topic, a body and the instant.
    """

    type: str
    topic: Optional[str] = None
    body: Any = None
    published_at_ms: Optional[int] = None


SILENCE_S = 45.0  # a daemon sends a comment each 15 s


def topic_event(event: Event) -> TopicEvent:
    if event.type != "message":
        return TopicEvent(event.type)
    told = json.loads(event.data)
    return TopicEvent("message", told["topic"], told["body"], told["published_at_ms"])


def listen(names: Iterable[str]) -> Call:
    return Call("GET", "/topics/stream", query={"name": list(names)})


def hold(name: str, body: dict[str, Any]) -> Call:
    """A hold that was not answered is free again, since it lives as long as its connection."""
    return Call("POST", path_of("locks", name) + "/hold", body, key="", wait_ms=body.get("wait_ms", 0))


def held(event: Event) -> tuple[int, str]:
    """The fence and the token of a hold, by its first event."""
    told = json.loads(event.data)
    if event.type != "acquired":
        raise Problem(503, {"code": event.type, "detail": f"the hold has ended: {event.data}", "effect": "none"})
    return told["fence"], told["token"]
