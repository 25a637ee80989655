"""The client for asyncio: the same names as in `patternd`, with `await`.

    async with patternd.aio.Client("http://127.0.0.1:8379") as client:
        await client.queue("mails").work(handler)
"""
from ._aio.client import Client, Lock
from ._aio.queue import Message, Queue
from ._aio.streams import Hold, Listening
from ._problems import LockHeld, LockLost, Problem
from ._requests import Response
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
