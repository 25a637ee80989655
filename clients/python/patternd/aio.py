"""The client for asyncio: the same names as in `patternd`, with `await`.

    async with patternd.aio.Client("http://127.0.0.1:8379") as client:
        await client.queue("mails").work(handler)

What is sent and how it is repeated is the code of the blocking client.
"""
from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Mapping, Optional, TypeVar, Union, cast

from . import _steps
from ._aio_queue import Message, Queue, all_items
from ._aio_streams import Hold, Listening
from ._aio_transport import Keeper, Transport
from ._message import lock_lease, lost_lock
from ._problems import LockHeld, LockLost, Problem
from ._requests import Call, Response, Settings, given, path_of
from ._steps import Decision, TopicEvent

__all__ = [
    "Client",
    "Problem",
    "LockHeld",
    "LockLost",
    "Lock",
    "Hold",
    "Queue",
    "Message",
    "Decision",
    "Response",
    "Listening",
    "TopicEvent",
]

T = TypeVar("T")


class Client:
    """Of the daemon at `url`; it takes the arguments of `patternd.Client`."""

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

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def request(
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
        """Any operation of the daemon but streams, as `patternd.Client.request`."""
        call = Call(
            method, path, body, query=query, headers=headers, key=key, wait_ms=wait_ms, timeout_ms=timeout_ms
        )
        return await self._transport.call(call)

    def lock(
        self, name: str, ttl_ms: int = 30000, wait_ms: int = 0, *, owner: Optional[str] = None, **more: Any
    ) -> Lock:
        """A lock for `async with`, as `patternd.Client.lock`; a task renews it."""
        return Lock(self._transport, self._keeper, name, ttl_ms, given(wait_ms=wait_ms or None, owner=owner, **more))

    def hold(
        self, name: str, ttl_ms: int = 10000, wait_ms: int = 0, *, owner: Optional[str] = None, **more: Any
    ) -> Hold:
        """A lock for `async with` that lives as long as a connection, as `patternd.Client.hold`."""
        return Hold(self._transport, name, given(ttl_ms=ttl_ms, wait_ms=wait_ms or None, owner=owner, **more))

    def queue(self, name: str) -> Queue:
        return Queue(self._transport, self._keeper, name)

    async def limit(
        self, key: str, limit: Optional[int] = None, window_ms: Optional[int] = None, **more: Any
    ) -> Decision:
        """Counts a call if `limit` per `window_ms` has room for it."""
        return await self._transport.run(_steps.limit(given(key=key, limit=limit, window_ms=window_ms, **more)))

    async def cached(
        self,
        key: str,
        ttl_ms: int,
        fill: Callable[[], Union[T, Awaitable[T]]],
        *,
        fill_ms: int = 5000,
        jitter_ms: int = 0,
    ) -> T:
        """The value of `key`, or what `fill` returns, which is stored for `ttl_ms`."""
        filling = await self._transport.run(_steps.cache_open(key, fill_ms, self._transport.settings.timeout_ms))
        if filling.ticket is None:
            return cast(T, filling.value)
        made = fill()
        value = cast(T, await made if inspect.isawaitable(made) else made)
        stored = {"value": value, "ttl_ms": ttl_ms, "jitter_ms": jitter_ms}
        await self._transport.run(_steps.cache_store(key, filling, stored))
        return value

    async def publish(self, topic: str, body: Any) -> dict[str, Any]:
        """Sends `body` to all that listen to the topic now."""
        return await self._ask("POST", path_of("topics", topic), {"body": body})

    def listen(self, *names: str) -> Listening:
        """Messages of topics, and of patterns that end in `*`, for `async with` and `async for`."""
        return Listening(self._transport, names)

    def policies(self) -> AsyncIterator[dict[str, Any]]:
        return all_items(self._transport, "/ratelimit/policies")

    async def get_policy(self, name: str) -> dict[str, Any]:
        return await self._ask("GET", path_of("ratelimit", "policies", name))

    async def put_policy(self, name: str, limit: int, window_ms: int, **more: Any) -> dict[str, Any]:
        return await self._ask(
            "PUT", path_of("ratelimit", "policies", name), {"limit": limit, "window_ms": window_ms, **more}
        )

    async def patch_policy(self, name: str, **changes: Any) -> dict[str, Any]:
        return await self._ask("PATCH", path_of("ratelimit", "policies", name), changes)

    async def delete_policy(self, name: str) -> None:
        await self._ask("DELETE", path_of("ratelimit", "policies", name))

    async def _ask(self, *what: Any, **options: Any) -> dict[str, Any]:
        return await self._transport.run(_steps.plain(*what, **options))


class Lock:
    """Made by Client.lock. `fence` rises with each holder; `lost`: it may be another's."""

    def __init__(
        self, transport: Transport, keeper: Keeper, name: str, ttl_ms: int, more: dict[str, Any]
    ) -> None:
        self.name, self.ttl_ms, self.fence, self.lost = name, ttl_ms, 0, asyncio.Event()
        self._transport, self._keeper, self._more = transport, keeper, more
        self._token = ""

    async def acquire(self) -> Lock:
        if self._token:
            raise RuntimeError(f"lock {self.name!r} was acquired before: make another by Client.lock")
        granted = await self._transport.run(_steps.lock_acquire(self.name, {"ttl_ms": self.ttl_ms, **self._more}))
        self.fence, self._token = granted.fence, granted.token
        self._lease = lock_lease(self.name, granted, self.ttl_ms, self.lost.set)
        self._keeper.keep(self._lease)
        return self

    async def release(self) -> None:
        """Raises LockLost when it was lost before. A lock that cannot be released expires."""
        lease, left_ms = self._lease, self._lease.left_ms(time.monotonic())
        self._keeper.drop(lease)
        is_released = not self.lost.is_set() and left_ms > 0
        if is_released:
            is_released = await self._transport.run(_steps.lock_release(self.name, self._token, left_ms))
        if not is_released:
            self.lost.set()
            raise lost_lock(self.name)

    async def __aenter__(self) -> Lock:
        return await self.acquire()

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            await self.release()
        except LockLost:
            if kind is None:
                raise
