"""A queue and its messages, for asyncio."""
from __future__ import annotations

import asyncio
from typing import Any, AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Mapping, Optional, Sequence

from . import _steps
from ._aio_transport import Keeper, Transport
from ._aio_worker import Worker
from ._message import Delivery, delivery_lease
from ._problems import Problem
from ._requests import Response, given, path_of
from ._work import Options


class Message(Delivery):
    """A delivery. `lost` is set when another worker may have it: stop the work then.

    With `async with` it is acknowledged at the end, and rejected when the block raises. It has
    the members and methods of `patternd.Message`.
    """

    def __init__(
        self,
        transport: Transport,
        keeper: Keeper,
        queue: str,
        delivered: _steps.Delivered,
        visibility_ms: float,
        max_work_ms: float,
        on_lost: Optional[Callable[[], None]] = None,
    ) -> None:
        super().__init__(queue, delivered.row)
        self.lost = lost = asyncio.Event()
        self._transport, self._keeper, self._visibility_ms = transport, keeper, visibility_ms

        def lose() -> None:
            lost.set()
            if on_lost is not None:
                on_lost()

        self.lease = delivery_lease(queue, delivered, visibility_ms, max_work_ms, lose)
        keeper.keep(self.lease)

    async def acknowledge(self, result: Any = None) -> bool:
        return await self._settle(_steps.delivery_acknowledge(self.queue, self.receipt, result))

    async def reject(
        self,
        delay_ms: Optional[float] = None,
        *,
        reason: Optional[str] = None,
        dead: bool = False,
        counted: bool = True,
    ) -> bool:
        body = _steps.rejection(delay_ms, reason, dead, counted)
        return await self._settle(_steps.delivery_reject(self.queue, self.receipt, body))

    async def extend(
        self, visibility_ms: Optional[float] = None, *, progress: Optional[Mapping[str, Any]] = None
    ) -> bool:
        body = {"visibility_ms": visibility_ms or self._visibility_ms, **given(progress=progress)}
        try:
            self.lease.extended(await self._transport.run(_steps.delivery_extend(self.queue, self.receipt, body)))
        except Problem as problem:
            if problem.status != 410:
                raise
            self.lease.lose()
        return not self.lease.is_ended

    def give_up(self) -> None:
        """It is not extended any more."""
        self._settled = bool(self._settled)
        self._keeper.drop(self.lease)

    async def _settle(self, steps: Generator[Any, Response, bool]) -> bool:
        is_done = await self._transport.run(self.settlement(steps))
        self._keeper.drop(self.lease)
        return is_done

    async def __aenter__(self) -> Message:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: object) -> None:
        try:
            if kind is None:
                await self.acknowledge()
            else:
                await self.reject(reason="the loop ended" if kind is GeneratorExit else f"{kind.__name__}: {error}")
        except Problem:
            if kind is None:  # else what the block raised matters more: the message comes again
                raise
        finally:
            self._keeper.drop(self.lease)


class Queue:
    """Made by Client.queue; it has the methods of `patternd.Queue`."""

    def __init__(self, transport: Transport, keeper: Keeper, name: str) -> None:
        self.name, self._path = name, path_of("queues", name)
        self._transport, self._keeper = transport, keeper

    async def send(
        self,
        body: Any,
        *,
        id: Optional[str] = None,
        delay_ms: Optional[int] = None,
        wait_result_ms: int = 0,
        **more: Any,
    ) -> dict[str, Any]:
        row = given(id=id, delay_ms=delay_ms, wait_result_ms=wait_result_ms or None, **more) | {"body": body}
        return (await self._transport.run(_steps.send(self.name, [row], wait_result_ms)))[0]

    async def send_many(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return await self._transport.run(_steps.send(self.name, messages))

    async def receive(
        self, wait_ms: int = 0, visibility_ms: int = 30000, max_work_ms: int = 3600000, worker: Optional[str] = None
    ) -> Optional[Message]:
        """One message, or None. It is extended until it is settled: `max_work_ms` at most."""
        body = given(wait_ms=wait_ms, visibility_ms=visibility_ms, worker=worker)
        delivered = await self._transport.run(_steps.receive(self.name, body, visibility_ms))
        return None if delivered is None else self._message(delivered, visibility_ms, max_work_ms)

    async def messages(
        self, stop: Optional[asyncio.Event] = None, wait_ms: Optional[int] = None, **more: Any
    ) -> AsyncGenerator[Message, None]:
        """For small scripts, as `patternd.Queue.messages`: use `async with message:` in the loop,
        as nothing ends an asynchronous generator at once. A worker that runs for years is `work`.
        """
        wait_ms = wait_ms if wait_ms is not None else 20000 if stop is None else 1000
        while stop is None or not stop.is_set():
            if (message := await self.receive(wait_ms, **more)) is not None:
                async with message:
                    yield message

    async def work(
        self,
        handler: Callable[[Message], Any],
        concurrency: int = 4,
        *,
        stop: Optional[asyncio.Event] = None,
        wait_ms: int = 20000,
        visibility_ms: int = 30000,
        max_work_ms: int = 3600000,
        drain_ms: int = 20000,
        worker: Optional[str] = None,
        signals: bool = True,
    ) -> None:
        """Runs `await handler(message)` for each message, `concurrency` at a time, as
        `patternd.Queue.work`; a plain function must not block. A handler is cancelled when its
        delivery is lost, and at the end of `drain_ms`. When this is cancelled, what runs is
        cancelled and returned at once.
        """
        await Worker(
            self._transport,
            lambda delivered, on_lost: self._message(delivered, visibility_ms, max_work_ms, on_lost),
            Options(self.name, concurrency, wait_ms, visibility_ms, worker, drain_ms),
            handler,
            stop,
        ).run(signals)

    async def get(self) -> dict[str, Any]:
        return await self._ask("GET", self._path)

    async def put(self, **settings: Any) -> dict[str, Any]:
        return await self._ask("PUT", self._path, settings)

    async def patch(self, **settings: Any) -> dict[str, Any]:
        return await self._ask("PATCH", self._path, settings)

    async def delete(self) -> None:
        await self._ask("DELETE", self._path)

    async def get_message(self, id: str, wait_ms: int = 0) -> dict[str, Any]:
        query = given(wait_ms=wait_ms or None)
        return await self._ask("GET", self._path + path_of("messages", id), query=query, wait_ms=wait_ms)

    async def delete_message(self, id: str, in_flight: bool = False) -> None:
        query = {"in_flight": "true"} if in_flight else None
        await self._ask("DELETE", self._path + path_of("messages", id), query=query)

    async def purge(self, state: Optional[str] = None, *, group: Optional[str] = None) -> dict[str, Any]:
        return await self._ask("POST", self._path + "/purge", given(state=state, group=group))

    async def redrive(
        self,
        ids: Optional[Sequence[str]] = None,
        *,
        limit: Optional[int] = None,
        to: Optional[str] = None,
        interval_ms: Optional[int] = None,
        group: Optional[str] = None,
    ) -> dict[str, Any]:
        body = given(ids=ids, limit=limit, to=to, interval_ms=interval_ms, group=group)
        return await self._ask("POST", self._path + "/redrive", body)

    def schedules(self) -> AsyncIterator[dict[str, Any]]:
        return all_items(self._transport, self._path + "/schedules")

    async def get_schedule(self, id: str) -> dict[str, Any]:
        return await self._ask("GET", self._path + path_of("schedules", id))

    async def put_schedule(self, id: str, body: Any, **when: Any) -> dict[str, Any]:
        return await self._ask("PUT", self._path + path_of("schedules", id), {"body": body, **when})

    async def patch_schedule(self, id: str, **changes: Any) -> dict[str, Any]:
        return await self._ask("PATCH", self._path + path_of("schedules", id), changes)

    async def run_schedule(self, id: str) -> dict[str, Any]:
        return await self._ask("POST", self._path + path_of("schedules", id, "run"))

    async def delete_schedule(self, id: str) -> None:
        await self._ask("DELETE", self._path + path_of("schedules", id))

    def groups(self) -> AsyncIterator[dict[str, Any]]:
        return all_items(self._transport, self._path + "/groups")

    async def pause_group(self, group: str, for_ms: int) -> dict[str, Any]:
        return await self._ask("POST", self._path + path_of("groups", group, "pause"), {"for_ms": for_ms})

    async def resume_group(self, group: str) -> dict[str, Any]:
        return await self._ask("POST", self._path + path_of("groups", group, "resume"))

    async def _ask(self, *what: Any, **options: Any) -> dict[str, Any]:
        return await self._transport.run(_steps.plain(*what, **options))

    def _message(
        self,
        delivered: _steps.Delivered,
        visibility_ms: float,
        max_work_ms: float,
        on_lost: Optional[Callable[[], None]] = None,
    ) -> Message:
        return Message(self._transport, self._keeper, self.name, delivered, visibility_ms, max_work_ms, on_lost)


async def all_items(transport: Transport, path: str) -> AsyncIterator[dict[str, Any]]:
    """The items of all pages of a list."""
    cursor: Optional[str] = None
    while True:
        items, cursor = await transport.run(_steps.page(path, given(cursor=cursor)))
        for item in items:
            yield item
        if cursor is None:
            return
