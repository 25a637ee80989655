"""Extends leases by a timer."""
from __future__ import annotations

import asyncio
import math
import time
from typing import Any, Awaitable, Callable, Optional

from .._lease import Lease, Leases, extension, not_extended
from .._requests import Steps
from .connection import background


class Keeper:
    """Extends the leases of a client, by one timer and a short task for each extension."""

    def __init__(self, run: Callable[[Steps[Any]], Awaitable[Any]]) -> None:
        self._run_steps, self._leases = run, Leases()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._wakes_at, self._loop = math.inf, None  # type: float, Optional[asyncio.AbstractEventLoop]

    def keep(self, lease: Lease) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._leases, self._timer, self._wakes_at = loop, Leases(), None, math.inf
        self._leases.add(lease)
        if lease.due(time.monotonic()) < self._wakes_at:
            self._look()

    def drop(self, lease: Lease) -> None:
        self._leases.drop(lease)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        now = time.monotonic()
        self._wakes_at = self._leases.look(now, self._begin)
        self._timer = None
        if not math.isinf(self._wakes_at) and self._loop is not None:
            self._timer = self._loop.call_later(max(self._wakes_at - now, 0), self._look)

    def _begin(self, leases: list[Lease]) -> None:
        background(self._extend, leases)

    async def _extend(self, leases: list[Lease]) -> None:
        try:
            await self._run_steps(extension(leases))
        except Exception as error:
            not_extended(leases, error)
        self._look()
