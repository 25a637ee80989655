"""Extends leases by a thread."""
from __future__ import annotations

import math
import os
import threading
import time
from typing import Any, Callable, Optional

from .._lease import IDLE_S, Lease, Leases, extension, not_extended
from .._requests import Steps
from .connection import background


class Keeper:
    """Extends the leases of a blocking client by one thread, and a short one for each extension.

    An exception of a signal handler may come at any step of the main thread, also between the
    acquisition of a Condition and its block: the Condition is locked for ever then. So there is
    none here: dicts and `_wake`, which is released to wake the thread, change in one step.
    """

    def __init__(self, run: Callable[[Steps[Any]], Any]) -> None:
        self._run_steps = run
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._pid, self._wakes_at, self._leases = os.getpid(), math.inf, Leases()
        self._thread: Optional[threading.Thread] = None
        self._wake = threading.Lock()

    def keep(self, lease: Lease) -> None:
        if self._pid != os.getpid():  # a fork takes no thread along
            self._begin_anew()
        self._leases.add(lease)
        thread = self._thread
        if thread is None or not thread.is_alive():
            self._thread = thread = threading.Thread(target=self._watch, name="patternd leases", daemon=True)
            thread.start()
        elif lease.due(time.monotonic()) < self._wakes_at:
            self._notify()

    def drop(self, lease: Lease) -> None:
        self._leases.drop(lease)

    def _notify(self) -> None:
        try:
            self._wake.release()
        except RuntimeError:
            pass  # it is about to look

    def _watch(self) -> None:
        """Ends when there has been no lease for IDLE_S."""
        leases, wake, idle_until = self._leases, self._wake, 0.0
        while True:
            now = time.monotonic()
            self._wakes_at = leases.look(now, self._begin)
            if len(leases) > 0:
                idle_until = now + IDLE_S
            elif now >= idle_until:
                # What was added before this is seen below, and what comes later starts a thread.
                self._thread = None
                if len(leases) == 0:
                    return
            pause = min(self._wakes_at, max(idle_until, now + IDLE_S)) - now
            wake.acquire(timeout=max(pause, 0))

    def _begin(self, leases: list[Lease]) -> None:
        background(self._extend, leases)

    def _extend(self, leases: list[Lease]) -> None:
        try:
            self._run_steps(extension(leases))
        except Exception as error:
            not_extended(leases, error)
        finally:
            self._notify()
