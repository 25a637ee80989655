"""Uses the package of clients/python as pip builds it. mypy --strict checks this file, too."""
import asyncio
import os
import threading
from typing import Optional

import patternd.aio
from patternd import Client, Decision, LockHeld, Message

client = Client(os.environ["PATTERND_URL"], timeout_ms=5000)
with client.lock("wheel", ttl_ms=5000) as lock:
    fence: int = lock.fence
    try:
        client.lock("wheel").acquire()
    except LockHeld as problem:
        retry_after: Optional[float] = problem.retry_after
        assert retry_after == 5 and fence > 0
client.queue("wheel").send({"n": 1}, id="one", delay_ms=10)
message: Optional[Message] = client.queue("wheel").receive(wait_ms=5000)
assert message is not None and message.body == {"n": 1} and message.acknowledge()
decision: Decision = client.limit("wheel", limit=1, window_ms=60000)
value: int = client.cached("wheel", ttl_ms=60000, fill=lambda: 7)
assert decision.allowed and value == 7

stop = threading.Event()
seen: list[object] = []


def handle(received: Message) -> None:
    seen.append(received.body)
    stop.set()


async def work() -> None:
    async with patternd.aio.Client(os.environ["PATTERND_URL"]) as asking:
        stopped = asyncio.Event()

        async def handle_aio(received: patternd.aio.Message) -> None:
            seen.append(received.body)
            stopped.set()

        await asking.queue("wheel").send(3)
        await asking.queue("wheel").work(handle_aio, stop=stopped)


client.queue("wheel").send(2)
client.queue("wheel").work(handle, stop=stop)
asyncio.run(work())
assert seen == [2, 3]
