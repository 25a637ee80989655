"""A lock or a delivery that ends unless it is extended: when to extend it, and when it is lost.

`Lease` decides and does no I/O; the `Keeper` of each client follows it.
"""
from __future__ import annotations

import itertools
import math
import time
import weakref
from typing import Any, Callable, Hashable, Optional, Sequence

from ._problems import ENDED, Problem, unanswered
from ._requests import PAUSE_MAX_S, PAUSE_S, Steps

SAFE = 0.00099  # seconds of a millisecond; 1 % is left to clocks that run apart
IDLE_S = 1.0
BATCH_MAX = 100  # that one request extends
_numbers = itertools.count()


class Lease:
    """`extend` makes the steps of an extension of leases, which may take so many ms. `on_lost` is
    called once. Neither may refer to the lock or message that has the lease.

    It is extended after every third of `time_ms`, until `until`, together with others of its
    `batch`; without one, alone. `expires` counts from when the request was sent that granted
    it: Redis's time began later.
    """

    def __init__(
        self,
        time_ms: float,
        expires: float,
        extend: Callable[[Sequence[Lease], float], Steps[Any]],
        on_lost: Callable[[], None],
        until: float = math.inf,
        name: str = "",
        batch: Optional[Hashable] = None,
    ) -> None:
        self.extend, self.expires, self.name = extend, expires, name
        self.number = next(_numbers)  # id() may be another's later
        self.batch = self.number if batch is None else batch
        self._on_lost, self._time_s, self._until = on_lost, time_ms / 1000, until
        self.is_ended = self.is_lost = self.is_extending = self._is_settled = False
        now = time.monotonic()
        self._next = now + max(min(self._time_s, expires - now), 0) / 3

    def due(self, now: float) -> float:
        """When to look again; `now` or earlier: an extension is due. Marks what is lost."""
        if self.is_ended:
            return math.inf
        if now >= self.expires:
            self.lose()
            return math.inf
        if self.is_extending or self._is_settled or now >= self._until:
            return self.expires
        return min(self._next, self.expires)

    def may_join(self, now: float) -> bool:
        """Whether it is extended with others that are due: its own extension comes soon."""
        is_kept = not self.is_ended and not self.is_extending and not self._is_settled and now < self._until
        return is_kept and self._next - now <= self._time_s / 6

    def left_ms(self, now: float) -> float:
        return max((self.expires - now) * 1000, 0)

    def extended(self, expires: float) -> None:
        self.expires, now = expires, time.monotonic()
        self._next = now + max(min(self._time_s, expires - now), 0) / 3
        self.is_extending = False

    def failed(self, problem: Problem) -> None:
        self.is_extending = False
        if problem.code in ENDED:
            self.lose()
            return
        now = time.monotonic()
        left = self.expires - now
        self._next = now + min(max(left, 0), max(PAUSE_S, min(left / 4, PAUSE_MAX_S)))

    def settle(self) -> None:
        """It is not extended from now on, and still lost when its time has passed."""
        self._is_settled = True

    def end(self) -> None:
        self.is_ended = True

    def lose(self) -> None:
        if not self.is_ended and not self.is_lost:
            self.is_lost = True
            self._on_lost()
        self.end()


class Leases:
    """The leases of a client, held weakly: what an interrupted program does not hold any more
    expires."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[Lease]] = {}

    def add(self, lease: Lease) -> None:
        self._refs[lease.number] = weakref.ref(lease)

    def drop(self, lease: Lease) -> None:
        lease.end()
        self._refs.pop(lease.number, None)

    def look(self, now: float, begin: Callable[[list[Lease]], None]) -> float:
        """Begins the extensions that are due, each with others that are due soon, and returns when
        to look again."""
        due: dict[Hashable, list[Lease]] = {}
        soon: dict[Hashable, list[Lease]] = {}
        earliest = math.inf
        for number, ref in list(self._refs.items()):
            lease = ref()
            at = lease.due(now) if lease is not None else math.inf
            if lease is None or lease.is_ended:
                self._refs.pop(number, None)
            elif at <= now:
                due.setdefault(lease.batch, []).append(lease)
                at = lease.expires
            elif lease.may_join(now):
                soon.setdefault(lease.batch, []).append(lease)
            earliest = min(earliest, at)
        for batch, leases in due.items():
            leases.extend(soon.get(batch, ()))
            for at in range(0, len(leases), BATCH_MAX):
                some = leases[at : at + BATCH_MAX]
                for lease in some:
                    lease.is_extending = True
                begin(some)
        return earliest

    def __len__(self) -> int:
        return len(self._refs)


def extension(leases: Sequence[Lease]) -> Steps[Any]:
    """The steps that extend leases of one batch."""
    now = time.monotonic()
    return leases[0].extend(leases, max(lease.left_ms(now) for lease in leases))


def not_extended(leases: Sequence[Lease], error: Exception) -> None:
    problem = error if isinstance(error, Problem) else unanswered("POST", "extend", error, "unknown")
    for lease in leases:
        lease.failed(problem)
