# Made of _aio/queue.py by tools/python_client.py.
"""A queue and its messages."""
# mypy: no-warn-return-any
from __future__ import annotations

import threading
from typing import Any, Callable, Generator, Iterable, Iterator, TYPE_CHECKING
from typing import Optional, Sequence

from .. import _steps
from .._message import Delivery, delivery_lease
from .._problems import Problem, told
from .._requests import Response, given, named, path_of
from .._work import Options
from .keeper import Keeper
from .transport import Transport
from .worker import Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .. import types
    from ..types import Json


class Message(Delivery):
    """A delivery. `lost` is set when another worker may have it: stop the work then.

    As a context manager it is acknowledged at the end, and rejected when the block raises. `group`
    and `schedule` are those that it belongs to, or None; `receives` counts this delivery, too.
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
        self.lost = lost = threading.Event()
        self._transport, self._keeper = transport, keeper
        self._visibility_ms = visibility_ms

        def lose() -> None:
            lost.set()
            if on_lost is not None:
                on_lost()

        self.lease = delivery_lease(queue, delivered, visibility_ms, max_work_ms, lose)
        self._keeper.keep(self.lease)

    def acknowledge(self, result: Json = None, *, late: bool = False) -> bool:
        """Removes the message for good. False: the delivery had ended, the message comes again.

        A `result`, any JSON, is kept for the queue's `result_ms`. After a Problem repeat the call:
        it returns what is true. With late=True it also counts after the end of the delivery, while
        the message was not delivered again.
        """
        return self._settle(_steps.delivery_acknowledge(self.queue, self.receipt, result, late))

    def reject(
        self,
        delay_ms: Optional[float] = None,
        *,
        reason: Optional[str] = None,
        dead: bool = False,
        counted: bool = True,
        late: bool = False,
    ) -> bool:
        """Returns it to the queue, due after `delay_ms` or the backoff; or makes it dead. With
        counted=False the message did not fail: `receives` goes back by one, and it has no backoff.
        `late` is as for acknowledge.
        """
        body = _steps.rejection(delay_ms, reason, dead, counted) | given(late=late or None)
        return self._settle(_steps.delivery_reject(self.queue, self.receipt, body))

    def extend(
        self, visibility_ms: Optional[float] = None, *, progress: Optional[types.ProgressRequest] = None
    ) -> bool:
        """Extends it now; False: the delivery has ended. It is extended anyway, to the
        `visibility_ms` of its receive, so this is for `progress`, {"percent": 50, "note": "half"}.
        """
        body = {"visibility_ms": visibility_ms or self._visibility_ms, **given(progress=progress)}
        try:
            self.lease.extended(self._transport.run(_steps.delivery_extend(self.queue, self.receipt, body)))
            self._keeper.keep(self.lease)
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
                self.reject(reason="the loop ended" if kind is GeneratorExit else told(error))
        except Problem:
            if kind is None:  # else what the block raised matters more: the message comes again
                raise
        finally:
            self._keeper.drop(self.lease)


class Queue:
    """Made by Client.queue."""

    def __init__(self, transport: Transport, keeper: Keeper, name: str) -> None:
        self.name, self._path = name, path_of("queues", name)
        self._transport, self._keeper = transport, keeper

    def send(
        self,
        body: Json,
        *,
        id: Optional[str] = None,
        delay_ms: Optional[int] = None,
        wait_result_ms: int = 0,
        **more: Unpack[types.SendOptions],
    ) -> types.SentMessage:
        """Returns {"id", "duplicate", "deliver_at_ms"}. Of one `id`, made if absent, one is kept.

        `more`: its other members (group, deliver_at_ms, priority, ttl_ms, on_duplicate, headers,
        traceparent, dedupe_id, dedupe_by_body). With `wait_result_ms` the answer waits for the
        message's end. With `must_exist`, a queue that does not exist raises a Problem, and is not
        created.
        """
        row = given(id=id, delay_ms=delay_ms, wait_result_ms=wait_result_ms or None, **more) | {"body": body}
        wait_ms = max(wait_result_ms, more.get("wait_room_ms") or 0)
        return (self._transport.run(_steps.send(self.name, [row], wait_ms)))[0]

    def send_many(
        self, messages: Iterable[types.OutgoingMessage], must_exist: bool = False
    ) -> list[types.SentMessage]:
        """Up to 100 messages, all or none: {"body": ..., "id": ..., "delay_ms": ...}.

        With `must_exist`, a queue that does not exist raises a Problem, and is not created.
        """
        return self._transport.run(_steps.send(self.name, messages, must_exist=must_exist))

    def receive(
        self, wait_ms: int = 0, visibility_ms: int = 30000, max_work_ms: int = 3600000, worker: Optional[str] = None
    ) -> Optional[Message]:
        """One message, or None. It is extended until it is settled: for `max_work_ms` at most.

        `worker` names the program in lists of messages; None: its host and process; "": nothing.
        """
        body = given(wait_ms=wait_ms, visibility_ms=visibility_ms, worker=named(worker))
        call = _steps.receive_call(self.name, body)
        try:
            delivered = self._transport.run(_steps.receive(self.name, call, visibility_ms))
            return None if delivered is None else self._message(delivered, visibility_ms, max_work_ms)
        except BaseException:
            self._transport.give_up(call)
            raise

    def messages(
        self,
        stop: Optional[threading.Event] = None,
        wait_ms: Optional[int] = None,
        visibility_ms: int = 30000,
        max_work_ms: int = 3600000,
        worker: Optional[str] = None,
    ) -> Generator[Message, None, None]:
        """For small scripts: messages, one after the other, until `stop` is set, or a call fails
        for longer than `timeout_ms`. A worker that runs for years is `work`.

        A message is acknowledged when the loop asks for the next one. It is rejected when the loop
        is left before that: by an exception, `break` or `return`, which look alike from here. That
        happens at once in CPython when only the loop refers to this iterator, and never at once in
        threading; `with message:` in the loop does not depend on it. `stop` is looked at each
        `wait_ms`: 1 s, or 20 s without it.
        """
        wait_ms = wait_ms if wait_ms is not None else 20000 if stop is None else 1000
        while stop is None or not stop.is_set():
            if (message := self.receive(wait_ms, visibility_ms, max_work_ms, worker)) is not None:
                with message:
                    yield message

    def work(
        self,
        handler: Callable[[Message], Json],
        concurrency: int = 4,
        *,
        stop: Optional[threading.Event] = None,
        wait_ms: int = 20000,
        visibility_ms: int = 30000,
        max_work_ms: int = 3600000,
        drain_ms: int = 7000,
        worker: Optional[str] = None,
        signals: bool = True,
    ) -> None:
        """Runs `handler(message)` for each message, `concurrency` at a time, until `stop` is set or
        the program gets SIGTERM or SIGINT (`signals`, in the main thread).

        A message is acknowledged when `handler` returns; what it returns, unless None, is the
        result. It is rejected when `handler` raises, or returns what JSON refuses; it is due again
        after the queue's backoff. An outage ends nothing. On a stop no more is begun, and what runs
        may end within `drain_ms`. The rest is returned, which does not count as a delivery. That
        takes 2 s at most. A second signal returns all at once.

        Threads: each handler has its own. Asyncio: a plain function must not block; a handler is
        cancelled when its delivery is lost, and at the end of `drain_ms`; when this is cancelled,
        what runs is cancelled and returned at once.
        """
        Worker(
            self._transport,
            lambda delivered, on_lost: self._message(delivered, visibility_ms, max_work_ms, on_lost),
            Options(self.name, concurrency, wait_ms, visibility_ms, named(worker), drain_ms),
            handler,
            stop,
        ).run(signals)

    def get(self) -> types.QueueState:
        """The number of messages by state, and the settings."""
        return self._ask("GET", self._path)

    def put(self, **settings: Unpack[types.QueueOptions]) -> types.QueueSettingsResult:
        """Replaces all settings: what is not named gets its default."""
        return self._ask("PUT", self._path, settings)

    def patch(self, **settings: Unpack[types.QueueSettingsPatch]) -> types.QueueSettingsResult:
        """Changes the settings that are named; None resets one to its default."""
        return self._ask("PATCH", self._path, settings)

    def delete(self) -> None:
        """Deletes the queue with all messages."""
        self._ask("DELETE", self._path)

    def get_message(self, id: str, wait_ms: int = 0) -> types.StoredMessage:
        """A message by its id, without receiving it; with `wait_ms`, when it is done or dead."""
        query = given(wait_ms=wait_ms or None)
        return self._ask("GET", self._path + path_of("messages", id), query=query, wait_ms=wait_ms)

    def delete_message(self, id: str, in_flight: bool = False) -> None:
        """Cancels a message; with in_flight also one that a worker has, which learns of it."""
        query = {"in_flight": "true"} if in_flight else None
        self._ask("DELETE", self._path + path_of("messages", id), query=query)

    def purge(
        self, state: Optional[types.MessageState] = None, *, group: Optional[str] = None
    ) -> types.QueuePurgeResult:
        """Removes the messages of a state, of a group, or all. The settings stay.

        Returns {"name", "purged"}.
        """
        return self._ask("POST", self._path + "/purge", given(state=state, group=group))

    def redrive(
        self,
        ids: Optional[Sequence[str]] = None,
        *,
        limit: Optional[int] = None,
        to: Optional[str] = None,
        interval_ms: Optional[int] = None,
        group: Optional[str] = None,
        state: Optional[str] = None,
        to_source: Optional[bool] = None,
    ) -> types.QueueRedriveResult:
        """Makes dead letters ready again, or moves them to the queue `to`: up to 100 by their ids,
        or `limit` (1000), the longest dead first. With state="delayed" it makes delayed messages
        due now instead. With state="ready" it moves ready messages to the queue `to`, or with
        `to_source` back to the queue in which each died.

        Returns {"name", "redriven", "duplicates"}.
        """
        body = given(ids=ids, limit=limit, to=to, interval_ms=interval_ms, group=group, state=state)
        body.update(given(to_source=to_source))
        return self._ask("POST", self._path + "/redrive", body)

    def schedules(self) -> Iterator[types.ScheduleItem]:
        """The schedules, by id and without their bodies."""
        return all_items(self._transport, self._path + "/schedules")

    def get_schedule(self, id: str) -> types.Schedule:
        """A schedule: its times, its message, and when it is due next."""
        return self._ask("GET", self._path + path_of("schedules", id))

    def put_schedule(self, id: str, body: Json, **when: Unpack[types.ScheduleOptions]) -> types.Schedule:
        """Sends `body` at the times of `cron` or each `every_ms`. Put it whenever the program
        starts: the same times move nothing. `when` also has time_zone, overlap, limit, group.
        """
        return self._ask("PUT", self._path + path_of("schedules", id), {"body": body, **when})

    def patch_schedule(self, id: str, **changes: Unpack[types.SchedulePatch]) -> types.Schedule:
        """Changes the members that are named; None resets one to its default."""
        return self._ask("PATCH", self._path + path_of("schedules", id), changes)

    def run_schedule(self, id: str) -> types.ScheduleRun:
        """Makes its message now."""
        return self._ask("POST", self._path + path_of("schedules", id, "run"))

    def delete_schedule(self, id: str) -> None:
        """Deletes a schedule. The messages that it made stay."""
        self._ask("DELETE", self._path + path_of("schedules", id))

    def groups(self) -> Iterator[types.QueueGroup]:
        """The groups that have messages: how many, and why a group waits."""
        return all_items(self._transport, self._path + "/groups")

    def workers(self) -> types.QueueWorkerList:
        """The workers that received in the last hour, or have messages of the queue."""
        return self._ask("GET", self._path + "/workers")

    def pause(self, for_ms: Optional[int] = None) -> types.QueuePause:
        """Delivers nothing for so long, or until `resume()`. A longer pause stays."""
        return self._ask("POST", self._path + "/pause", given(for_ms=for_ms))

    def resume(self) -> types.QueuePause:
        """Ends the pause of the queue."""
        return self._ask("POST", self._path + "/resume")

    def pause_group(self, group: str, for_ms: int) -> types.QueueGroupResult:
        """Delivers nothing of a group for so long."""
        return self._ask("POST", self._path + path_of("groups", group, "pause"), {"for_ms": for_ms})

    def resume_group(self, group: str) -> types.QueueGroupResult:
        """Ends the pause of a group."""
        return self._ask("POST", self._path + path_of("groups", group, "resume"))

    def _ask(self, *what: Any, **options: Any) -> Any:
        """The methods state the types of answers."""
        return self._transport.run(_steps.plain(*what, **options))

    def _message(
        self,
        delivered: _steps.Delivered,
        visibility_ms: float,
        max_work_ms: float,
        on_lost: Optional[Callable[[], None]] = None,
    ) -> Message:
        return Message(self._transport, self._keeper, self.name, delivered, visibility_ms, max_work_ms, on_lost)


def all_items(transport: Transport, path: str) -> Iterator[Any]:
    """The items of all pages of a list."""
    cursor: Optional[str] = None
    while True:
        items, cursor = transport.run(_steps.page(path, given(cursor=cursor)))
        for item in items:
            yield item
        if cursor is None:
            return
