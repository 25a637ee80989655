"""Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON.

A `Client` is for all threads of a program, and for its forked children: each request takes a
connection from a pool. `Client.request` reaches every other pattern. `patternd.aio` has the same
for asyncio, `patternd.testing` a daemon for tests.

A request that failed is repeated by what its failure did. Effect `none` (503, no connection): again
after Retry-After, or a growing random pause. Effect `unknown` (504, a broken connection): the same
request with the same Idempotency-Key. Any other failure, and the end of the time, raise `Problem`.

_requests.py decides what is sent and when again, _steps.py what each operation sends, _lease.py
when a lock or message is extended and lost, _work.py how a queue is worked. None of these does I/O.
_aio/ is the client for asyncio; _threads/ is made of it by tools/python_client.py, but for what
each does in its own way: connection.py, keeper.py and worker.py.
"""
from ._problems import LockHeld, LockLost, Problem
from ._requests import Response
from ._steps import Decision, TopicEvent
from ._threads.client import Client, Lock
from ._threads.queue import Message, Queue
from ._threads.streams import Hold, Listening

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
