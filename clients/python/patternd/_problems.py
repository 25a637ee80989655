"""Errors of a call, as the daemon describes them (RFC 9457)."""
from __future__ import annotations

from typing import Any, Mapping, Optional


class Problem(Exception):
    """A request that was refused or failed.

    `effect`: whether it changed anything ("none", "applied", "unknown"). `retry_after`: in seconds.
    Without an answer `status` is 0 and `code` "no_connection". `repeated`: an earlier attempt was
    not answered, and may have done it.
    """

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(status, body, retry_after)
        self.status, self.body, self.retry_after = status, dict(body), retry_after
        self.code, self.detail = str(body.get("code")), str(body.get("detail", ""))
        self.effect, self.repeated = str(body.get("effect", "unknown")), False
        self.was_sent = True  # False: no connection was made

    def __str__(self) -> str:
        return f"{self.code}: {self.detail or self.body.get('title')}"


class LockHeld(Problem):
    """The lock is held by another client, also after `wait_ms`."""


class LockLost(Problem):
    """The lock expired or was released by force: another client may hold it."""


KINDS: dict[str, type[Problem]] = {"lock_held": LockHeld, "not_holder": LockLost}

# A delivery or a lock with one of these codes has ended: no repetition brings it back.
ENDED = ("not_holder", "receipt_expired", "message_cancelled")


def told(error: Optional[BaseException]) -> str:
    """The type and the text of an error, whose methods are the program's and may raise, too."""
    try:
        text = f"{error}"
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    except BaseException:
        return "an error whose text cannot be had"


def unanswered(method: str, target: str, error: BaseException, effect: str, was_sent: bool = True) -> Problem:
    """The problem of an attempt that got no answer."""
    problem = Problem(0, {"code": "no_connection", "detail": f"{method} {target}: {told(error)}", "effect": effect})
    problem.was_sent = was_sent
    return problem
