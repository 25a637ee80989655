"""The blocking client: each call is the steps of an operation, run over sockets."""
from __future__ import annotations

import threading
import time
from typing import Any, Callable, Generator, Iterable, Iterator, Mapping, Optional, TypeVar, cast

from . import _steps
from ._lease import Keeper
from ._message import Delivery, delivery_lease, lock_lease, lost_lock
from ._problems import LockLost, Problem
from ._requests import Call, Response, Settings, given, path_of
from ._steps import Decision
from ._streams import Hold, Listening
from ._transport import Transport
from ._work import Options
from ._worker import Worker

T = TypeVar("T")


class Client:
    """Of the daemon at `url`: http://HOST:PORT, https://..., or http+unix://%2Fpath%2Fof%2Fsocket.

    `timeout_ms` bounds a call with all its attempts, `attempt_ms` one of them; both without
    `wait_ms`, the time that the daemon is asked to wait. `ca_file` has the authorities that the
    daemon's certificate is checked by, instead of the system's; `cert_file` and `key_file` are the
    certificate that it may ask for.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        timeout_ms: float = 30000,
        attempt_ms: float = 5000,
        *,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
    ) -> None:
        settings = Settings(url, token, timeout_ms, attempt_ms, ca_file, cert_file, key_file)
        self._transport = Transport(settings)
        self._keeper = Keeper(self._transport.run)

    def close(self) -> None:
        """Closes idle connections. The client can be used again."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
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
    ) -> Response:
        """Any operation of the daemon but streams; `path` is percent-encoded.

        POST and PATCH carry `key` as Idempotency-Key, or one made for the call; other methods may
        be repeated without. key="" sends none, for what may happen twice.
        """
        call = Call(
            method, path, body, query=query, headers=headers, key=key, wait_ms=wait_ms, timeout_ms=timeout_ms
        )
        return self._transport.call(call)

    def lock(self, name: str, ttl_ms: int = 30000, wait_ms: int = 0, *, owner: Optional[str] = None, **more: Any) -> Lock:
        """A lock for `with`: acquired on entry, renewed by a thread, released at the end.

        Raises LockHeld on entry when it is not free within `wait_ms`, and LockLost at the end when
        it was lost meanwhile. `more`: other members of the request (mode, metadata, min_replicas).
        """
        return Lock(self, name, ttl_ms, given(wait_ms=wait_ms or None, owner=owner, **more))

    def hold(self, name: str, ttl_ms: int = 10000, wait_ms: int = 0, *, owner: Optional[str] = None, **more: Any) -> Hold:
        """A lock for `with` that lives as long as a connection: the daemon renews it.

        When the program ends, for whatever reason, it is free at once. Raises as `lock` does.
        """
        return Hold(self._transport, name, given(ttl_ms=ttl_ms, wait_ms=wait_ms or None, owner=owner, **more))

    def queue(self, name: str) -> Queue:
        return Queue(self, name)

    def limit(
        self, key: str, limit: Optional[int] = None, window_ms: Optional[int] = None, **more: Any
    ) -> Decision:
        """Counts a call if `limit` per `window_ms` has room for it.

        `more`: other members of the request (policy, burst, algorithm, cost, wait_ms).
        """
        return self._transport.run(_steps.limit(given(key=key, limit=limit, window_ms=window_ms, **more)))

    def cached(self, key: str, ttl_ms: int, fill: Callable[[], T], *, fill_ms: int = 5000, jitter_ms: int = 0) -> T:
        """The value of `key`, or what `fill` returns, which is stored for `ttl_ms`.

        Of all callers one runs `fill`, for at most `fill_ms`; the others wait at the daemon, for at
        most `timeout_ms`. When `fill` raises or takes longer, the next caller runs its own.
        """
        filling = self._transport.run(_steps.cache_open(key, fill_ms, self._transport.settings.timeout_ms))
        if filling.ticket is None:
            return cast(T, filling.value)
        value = fill()
        stored = {"value": value, "ttl_ms": ttl_ms, "jitter_ms": jitter_ms}
        self._transport.run(_steps.cache_store(key, filling, stored))
        return value

    def publish(self, topic: str, body: Any) -> dict[str, Any]:
        """Sends `body` to all that listen to the topic now."""
        return self._ask("POST", path_of("topics", topic), {"body": body})

    def listen(self, *names: str) -> Listening:
        """Messages of topics, and of patterns that end in `*`, for `with` and `for`."""
        return Listening(self._transport, names)

    def policies(self) -> Iterator[dict[str, Any]]:
        """The stored policies of rate limits."""
        return self._all("/ratelimit/policies")

    def get_policy(self, name: str) -> dict[str, Any]:
        return self._ask("GET", path_of("ratelimit", "policies", name))

    def put_policy(self, name: str, limit: int, window_ms: int, **more: Any) -> dict[str, Any]:
        """Stores a whole policy; `more`: its other members (burst, algorithm, on_error, shadow)."""
        return self._ask(
            "PUT", path_of("ratelimit", "policies", name), {"limit": limit, "window_ms": window_ms, **more}
        )

    def patch_policy(self, name: str, **changes: Any) -> dict[str, Any]:
        """Changes the members that are named; None sets a member's default."""
        return self._ask("PATCH", path_of("ratelimit", "policies", name), changes)

    def delete_policy(self, name: str) -> None:
        self._ask("DELETE", path_of("ratelimit", "policies", name))

    def _ask(self, *what: Any, **options: Any) -> dict[str, Any]:
        return self._transport.run(_steps.plain(*what, **options))

    def _all(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """The items of all pages of a list."""
        cursor: Optional[str] = None
        while True:
            items, cursor = self._transport.run(_steps.page(path, given(cursor=cursor, **query)))
            yield from items
            if cursor is None:
                return


class Lock:
    """Made by Client.lock. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(self, client: Client, name: str, ttl_ms: int, more: dict[str, Any]) -> None:
        self.name, self.ttl_ms, self.fence, self.lost = name, ttl_ms, 0, threading.Event()
        self._transport, self._keeper, self._more = client._transport, client._keeper, more
        self._token = ""

    def acquire(self) -> Lock:
        if self._token:
            raise RuntimeError(f"lock {self.name!r} was acquired before: make another by Client.lock")
        granted = self._transport.run(_steps.lock_acquire(self.name, {"ttl_ms": self.ttl_ms, **self._more}))
        self.fence, self._token = granted.fence, granted.token
        self._lease = lock_lease(self.name, granted, self.ttl_ms, self.lost.set)
        self._keeper.keep(self._lease)
        return self

    def release(self) -> None:
        """Raises LockLost when it was lost before. A lock that cannot be released expires."""
        lease, left_ms = self._lease, self._lease.left_ms(time.monotonic())
        self._keeper.drop(lease)
        is_released = not self.lost.is_set() and left_ms > 0
        if is_released:
            is_released = self._transport.run(_steps.lock_release(self.name, self._token, left_ms))
        if not is_released:
            self.lost.set()
            raise lost_lock(self.name)

    def __enter__(self) -> Lock:
        return self.acquire()

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise


class Message(Delivery):
    """A delivery. `lost` is set when another worker may have it: stop the work then.

    As a context manager it is acknowledged at the end, and rejected when the block raises.
    `group` and `schedule` say whose it is, if it is of one; `receives` counts this delivery, too.
    """

    def __init__(
        self, client: Client, queue: str, delivered: _steps.Delivered, visibility_ms: float, max_work_ms: float
    ) -> None:
        super().__init__(queue, delivered.row)
        self.lost = threading.Event()
        self._transport, self._keeper = client._transport, client._keeper
        self._visibility_ms = visibility_ms
        self.lease = delivery_lease(queue, delivered, visibility_ms, max_work_ms, self.lost.set)
        self._keeper.keep(self.lease)

    def acknowledge(self, result: Any = None) -> bool:
        """Removes the message for good. False: the delivery had ended, the message comes again.

        A `result`, any JSON, is kept for the queue's `result_ms`. After a Problem repeat the call:
        it says what is true.
        """
        return self._settle(_steps.delivery_acknowledge(self.queue, self.receipt, result))

    def reject(self, delay_ms: Optional[float] = None, *, reason: Optional[str] = None, dead: bool = False) -> bool:
        """Returns it to the queue, due after `delay_ms` or the backoff; or makes it dead."""
        body = _steps.rejection(delay_ms, reason, dead)
        return self._settle(_steps.delivery_reject(self.queue, self.receipt, body))

    def extend(self, visibility_ms: Optional[float] = None, *, progress: Optional[Mapping[str, Any]] = None) -> bool:
        """Extends it now; False: the delivery has ended. A thread extends it anyway, so this is for
        `progress`, {"percent": 50, "note": "half"}.
        """
        body = {"visibility_ms": visibility_ms or self._visibility_ms, **given(progress=progress)}
        try:
            self.lease.extended(self._transport.run(_steps.delivery_extend(self.queue, self.receipt, body)))
        except Problem as problem:
            if problem.status != 410:
                raise
            self.lease.lose()
        return not self.lease.is_ended

    def give_up(self) -> None:
        """It is not extended any more."""
        self._settled = bool(self._settled)
        self._keeper.drop(self.lease)

    def _settle(self, steps: Generator[Any, Response, bool]) -> bool:
        is_done = self._transport.run(self.settlement(steps))
        self._keeper.drop(self.lease)
        return is_done

    def __enter__(self) -> Message:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: object) -> None:
        try:
            if kind is None:
                self.acknowledge()
            else:
                self.reject(reason="the loop ended" if kind is GeneratorExit else f"{kind.__name__}: {error}")
        except Problem:
            if kind is None:  # else what the block raised matters more: the message comes again
                raise
        finally:
            self._keeper.drop(self.lease)


class Queue:
    """Made by Client.queue."""

    def __init__(self, client: Client, name: str) -> None:
        self.name, self._client, self._path = name, client, path_of("queues", name)

    def send(
        self, body: Any, *, id: Optional[str] = None, delay_ms: Optional[int] = None, wait_result_ms: int = 0, **more: Any
    ) -> dict[str, Any]:
        """Returns {"id", "duplicate", "deliver_at_ms"}. Of one `id`, made if absent, one is kept.

        `more`: its other members (group, deliver_at_ms, priority, ttl_ms, on_duplicate, headers,
        traceparent). With `wait_result_ms` the answer waits for the message's end.
        """
        row = given(id=id, delay_ms=delay_ms, wait_result_ms=wait_result_ms or None, **more) | {"body": body}
        return self._client._transport.run(_steps.send(self.name, [row], wait_result_ms))[0]

    def send_many(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Up to 100 messages, all or none: {"body": ..., "id": ..., "delay_ms": ...}."""
        return self._client._transport.run(_steps.send(self.name, messages))

    def receive(
        self, wait_ms: int = 0, visibility_ms: int = 30000, max_work_ms: int = 3600000, worker: Optional[str] = None
    ) -> Optional[Message]:
        """One message, or None. A thread extends it until it is settled: `max_work_ms` at most."""
        body = given(wait_ms=wait_ms, visibility_ms=visibility_ms, worker=worker)
        delivered = self._client._transport.run(_steps.receive(self.name, body, visibility_ms))
        if delivered is None:
            return None
        return Message(self._client, self.name, delivered, visibility_ms, max_work_ms)

    def messages(
        self, stop: Optional[threading.Event] = None, wait_ms: Optional[int] = None, **more: Any
    ) -> Generator[Message, None, None]:
        """For small scripts: messages, one after the other, until `stop` is set, or a call fails for
        longer than `timeout_ms`. A worker that runs for years is `work`. `more` goes to `receive`.

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

    def work(
        self,
        handler: Callable[[Message], Any],
        concurrency: int = 4,
        *,
        stop: Optional[threading.Event] = None,
        wait_ms: int = 20000,
        visibility_ms: int = 30000,
        max_work_ms: int = 3600000,
        drain_ms: int = 20000,
        worker: Optional[str] = None,
        signals: bool = True,
    ) -> None:
        """Runs `handler(message)` for each message, in `concurrency` threads, until `stop` is set or
        the program gets SIGTERM or SIGINT (`signals`, in the main thread).

        A message is acknowledged when `handler` returns; what it returns, unless None, is the result.
        It is rejected when `handler` raises, due again after the queue's backoff. An outage ends
        nothing. On a stop no more is taken, and what was received is worked on, for up to
        `drain_ms`; the rest is returned. A second signal returns all at once.
        """
        Worker(
            self._client._transport,
            lambda delivered: Message(self._client, self.name, delivered, visibility_ms, max_work_ms),
            Options(self.name, concurrency, wait_ms, visibility_ms, worker, drain_ms),
            handler,
            stop,
        ).run(signals)

    def get(self) -> dict[str, Any]:
        """The number of messages by state, and the settings."""
        return self._ask("GET", self._path)

    def put(self, **settings: Any) -> dict[str, Any]:
        """Replaces all settings: what is not named gets its default."""
        return self._ask("PUT", self._path, settings)

    def patch(self, **settings: Any) -> dict[str, Any]:
        """Changes the settings that are named; None resets one to its default."""
        return self._ask("PATCH", self._path, settings)

    def delete(self) -> None:
        """Deletes the queue with all messages."""
        self._ask("DELETE", self._path)

    def get_message(self, id: str, wait_ms: int = 0) -> dict[str, Any]:
        """A message by its id, without receiving it; with `wait_ms`, when it is done or dead."""
        query = given(wait_ms=wait_ms or None)
        return self._ask("GET", self._path + path_of("messages", id), query=query, wait_ms=wait_ms)

    def delete_message(self, id: str) -> None:
        """Cancels a message."""
        self._ask("DELETE", self._path + path_of("messages", id))

    def schedules(self) -> Iterator[dict[str, Any]]:
        return self._client._all(self._path + "/schedules")

    def get_schedule(self, id: str) -> dict[str, Any]:
        return self._ask("GET", self._path + path_of("schedules", id))

    def put_schedule(self, id: str, body: Any, **when: Any) -> dict[str, Any]:
        """Sends `body` at the times of `cron` or each `every_ms`. Put it whenever the program
        starts: the same times move nothing. `when` also has time_zone, overlap, limit, group.
        """
        return self._ask("PUT", self._path + path_of("schedules", id), {"body": body, **when})

    def patch_schedule(self, id: str, **changes: Any) -> dict[str, Any]:
        return self._ask("PATCH", self._path + path_of("schedules", id), changes)

    def run_schedule(self, id: str) -> dict[str, Any]:
        """Makes its message now."""
        return self._ask("POST", self._path + path_of("schedules", id, "run"))

    def delete_schedule(self, id: str) -> None:
        self._ask("DELETE", self._path + path_of("schedules", id))

    def groups(self) -> Iterator[dict[str, Any]]:
        """The groups that have messages: how many, and why a group stands still."""
        return self._client._all(self._path + "/groups")

    def pause_group(self, group: str, for_ms: int) -> dict[str, Any]:
        """Delivers nothing of a group for so long."""
        return self._ask("POST", self._path + path_of("groups", group, "pause"), {"for_ms": for_ms})

    def resume_group(self, group: str) -> dict[str, Any]:
        return self._ask("POST", self._path + path_of("groups", group, "resume"))

    def _ask(self, *what: Any, **options: Any) -> dict[str, Any]:
        return self._client._ask(*what, **options)
