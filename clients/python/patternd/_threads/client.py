# Made of _aio/client.py by tools/python_client.py.
"""The client: each call is the steps of an operation, which a transport runs."""
# mypy: no-warn-return-any
from __future__ import annotations

import os
import threading
import time
from typing import Any, cast, Iterator, Mapping, Optional, TYPE_CHECKING, TypeVar

from .. import _steps
from .._message import lock_lease, lost_lock
from .._problems import LockLost
from .._requests import Call, Response, Settings, given, path_of
from .._steps import Decision
from .connection import Fill, filled
from .keeper import Keeper
from .queue import Queue, all_items
from .streams import Hold, Listening
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .. import types
    from ..types import Json

T = TypeVar("T")


class Client:
    """Of the daemon at `url`: http://HOST:PORT, https://..., or http+unix://%2Fpath%2Fof%2Fsocket.
    Without one it is the value of PATTERND_URL, else http://127.0.0.1:8379. Without a `token` it is
    the value of PATTERND_TOKEN; token="" sends none.

    `timeout_ms` bounds a call with all its attempts, `attempt_ms` one of them; both without
    `wait_ms`, the time that the daemon is asked to wait. `ca_file` has the authorities that the
    daemon's certificate is checked by, instead of the system's; `cert_file` and `key_file` are the
    certificate that it may ask for.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        timeout_ms: float = 30000,
        attempt_ms: float = 5000,
        *,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
    ) -> None:
        url = (os.environ.get("PATTERND_URL") or "http://127.0.0.1:8379") if url is None else url
        token = os.environ.get("PATTERND_TOKEN") if token is None else token
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

    def lock(
        self,
        name: str,
        ttl_ms: int = 30000,
        wait_ms: int = 0,
        *,
        owner: Optional[str] = None,
        **more: Unpack[types.LockOptions],
    ) -> Lock:
        """A lock for `with`: acquired on entry, renewed beside it, released at the end.

        Raises LockHeld on entry when it is not free within `wait_ms`, and LockLost at the end when
        it was lost by then. `more`: other members of the request (mode, metadata, min_replicas).
        """
        return Lock(self._transport, self._keeper, name, ttl_ms, given(wait_ms=wait_ms or None, owner=owner, **more))

    def hold(
        self,
        name: str,
        ttl_ms: int = 10000,
        wait_ms: int = 0,
        *,
        owner: Optional[str] = None,
        **more: Unpack[types.HoldOptions],
    ) -> Hold:
        """A lock for `with` that lives as long as a connection: the daemon renews it.

        When the program ends, for whatever reason, it is free at once. Raises as `lock` does.
        """
        return Hold(self._transport, name, given(ttl_ms=ttl_ms, wait_ms=wait_ms or None, owner=owner, **more))

    def queue(self, name: str) -> Queue:
        """A queue by its name. Nothing is sent: the first message or setting creates it."""
        return Queue(self._transport, self._keeper, name)

    def limit(
        self,
        key: str,
        limit: Optional[int] = None,
        window_ms: Optional[int] = None,
        **more: Unpack[types.LimitOptions],
    ) -> Decision:
        """Counts a call if `limit` per `window_ms` has room for it.

        `more`: other members of the request (policy, burst, algorithm, cost, wait_ms).
        """
        return self._transport.run(_steps.limit(given(key=key, limit=limit, window_ms=window_ms, **more)))

    def cached(self, key: str, ttl_ms: int, fill: Fill[T], *, fill_ms: int = 5000, jitter_ms: int = 0) -> T:
        """The value of `key`, or what `fill` returns, which is stored for `ttl_ms`.

        Of all callers one runs `fill`, for at most `fill_ms`; the others wait at the daemon, for at
        most `timeout_ms`. When `fill` raises or takes longer, the next caller runs its own.
        """
        filling = self._transport.run(_steps.cache_open(key, fill_ms, self._transport.settings.timeout_ms))
        if filling.ticket is None:
            return cast(T, filling.value)
        value: T = filled(fill)
        stored = {"value": value, "ttl_ms": ttl_ms, "jitter_ms": jitter_ms}
        self._transport.run(_steps.cache_store(key, filling, stored))
        return value

    def publish(self, topic: str, body: Json) -> types.TopicPublication:
        """Sends `body` to all that listen to the topic now."""
        return self._ask("POST", path_of("topics", topic), {"body": body})

    def listen(self, *names: str) -> Listening:
        """Messages of topics, and of patterns that end in `*`, for `with` and `for`."""
        return Listening(self._transport, names)

    def policies(self) -> Iterator[types.Policy]:
        """The stored policies of rate limits."""
        return all_items(self._transport, "/ratelimit/policies")

    def get_policy(self, name: str) -> types.Policy:
        """A stored policy."""
        return self._ask("GET", path_of("ratelimit", "policies", name))

    def put_policy(
        self, name: str, limit: int, window_ms: int, **more: Unpack[types.PolicyOptions]
    ) -> types.Policy:
        """Stores a whole policy; `more`: its other members, such as burst and address."""
        return self._ask(
            "PUT", path_of("ratelimit", "policies", name), {"limit": limit, "window_ms": window_ms, **more}
        )

    def patch_policy(self, name: str, **changes: Unpack[types.PolicyPatch]) -> types.Policy:
        """Changes the members that are named; None sets a member's default."""
        return self._ask("PATCH", path_of("ratelimit", "policies", name), changes)

    def delete_policy(self, name: str) -> None:
        """Deletes a stored policy."""
        self._ask("DELETE", path_of("ratelimit", "policies", name))

    def _ask(self, *what: Any, **options: Any) -> Any:
        """The methods state the types of answers."""
        return self._transport.run(_steps.plain(*what, **options))


class Lock:
    """Made by Client.lock. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(
        self, transport: Transport, keeper: Keeper, name: str, ttl_ms: int, more: dict[str, Any]
    ) -> None:
        self.name, self.ttl_ms, self.fence, self.lost = name, ttl_ms, 0, threading.Event()
        self._transport, self._keeper, self._more = transport, keeper, more
        self._token = ""

    def acquire(self) -> Lock:
        """Acquires it without a block: `release` must follow."""
        if self._token:
            raise RuntimeError(f"lock {self.name!r} was acquired before: make another by Client.lock")
        call = _steps.lock_call(self.name, {"ttl_ms": self.ttl_ms, **self._more})
        try:
            granted = self._transport.run(_steps.lock_acquire(call))
            self.fence, self._token = granted.fence, granted.token
            self._lease = lock_lease(self.name, granted, self.ttl_ms, self.lost.set)
            self._keeper.keep(self._lease)
            return self
        except BaseException:
            self._transport.give_up(call)
            raise

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
