"""What a lock and a message are for both clients: their members, and their leases."""
from __future__ import annotations

import functools
import math
import time
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _steps
from ._lease import Lease
from ._problems import LockLost, Problem
from ._requests import Steps

if TYPE_CHECKING:
    from .types import MessageSchedule


def delivery_lease(
    queue: str,
    delivered: _steps.Delivered,
    visibility_ms: float,
    max_work_ms: float,
    on_lost: Callable[[], None],
) -> Lease:
    extend = functools.partial(_steps.deliveries_extend, queue, visibility_ms)
    until, batch = time.monotonic() + max_work_ms / 1000, (queue, visibility_ms)
    return Lease(visibility_ms, delivered.expires, extend, on_lost, until, delivered.row["receipt"], batch)


def lock_lease(name: str, granted: _steps.Granted, ttl_ms: float, on_lost: Callable[[], None]) -> Lease:
    extend = functools.partial(_steps.lock_extend, name, granted.token, ttl_ms)
    return Lease(ttl_ms, granted.expires, extend, on_lost, math.inf)


def lost_lock(name: str) -> LockLost:
    return LockLost(0, {"code": "not_holder", "effect": "none", "detail": f"lock {name!r} has expired"})


class Delivery:
    """The members of a message, and what is true of its settlement."""

    lease: Lease

    def __init__(self, queue: str, row: dict[str, Any]) -> None:
        self.queue, self.receipt = queue, str(row["receipt"])
        self.id, self.body = str(row["id"]), row["body"]
        self.receives: int = row["receives"]
        self.priority: int = row["priority"]
        self.sent_at_ms: int = row["sent_at_ms"]
        self.traceparent: Optional[str] = row.get("traceparent")
        self.headers: dict[str, str] = row.get("headers") or {}
        self.group: Optional[str] = row.get("group")
        self.schedule: Optional[MessageSchedule] = row.get("schedule")
        self.dedupe_id: Optional[str] = row.get("dedupe_id")
        self.dead_from: Optional[str] = row.get("dead_from")
        self.sequence: str = row.get("sequence", "")
        self._settled: Optional[bool] = None

    def __repr__(self) -> str:
        return f"<Message {self.id!r} of queue {self.queue!r}>"

    @property
    def is_settled(self) -> bool:
        """It was acknowledged, rejected or given up."""
        return self._settled is not None

    def settlement(self, steps: Steps[bool]) -> Steps[bool]:
        """Runs the steps of an acknowledgement or a rejection, and keeps what is true.

        One that failed may be repeated: until then the delivery is not extended any more. One that
        succeeded makes every other False, without a request.
        """
        if self._settled is not None:
            steps.close()
            return False
        try:
            self._settled = yield from steps
        except Problem:
            self.lease.settle()
            raise
        if not self._settled:
            self.lease.lose()
        return self._settled
