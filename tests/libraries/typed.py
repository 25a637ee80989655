"""Uses of the Python client that type checkers judge, by tests/test_python_types.py. They must
report each line with the mark, and no other line. This file is never run.
"""
import asyncio
import datetime
import threading
from typing import AsyncIterator, Dict, Iterator, List, Optional, TypedDict

import patternd.aio
from patternd import Client, Message, types

client = Client()
queue = client.queue("mails")


class Mail(TypedDict):
    to: str


def sends(mail: Mail, group: Optional[str]) -> None:
    queue.send(mail, priority=1, group=group, headers={"tenant": "7"}, on_duplicate="keep")
    queue.send(1, priorty=1)  # wrong: a misspelt option
    queue.send(1, priority="high")  # wrong: a text for a number
    queue.send(1, on_duplicate="keeep")  # wrong: no such value
    queue.send(1, headers=["tenant"])  # wrong: a list for an object
    queue.send(datetime.datetime.now())  # wrong: not JSON
    sent = queue.send("hello", wait_result_ms=5000)
    identity: str = sent["id"]
    is_done = sent.get("state") == "done"
    sent["identity"]  # wrong: no such field of an answer
    number: int = sent["id"]  # wrong: the id is a text
    print(identity, is_done, number)


def sends_many(mails: List[Mail]) -> None:
    queue.send_many({"body": mail} for mail in mails)
    queue.send_many([{"body": 1, "delay_ms": 10}, {"body": (1, 2), "id": "second", "group": None}])
    queue.send_many([{"body": 1, "delay": 10}])  # wrong: a misspelt member
    queue.send_many([{"delay_ms": 10}])  # wrong: no body
    queue.send_many({"body": 1})  # wrong: no list


def settings() -> None:
    queue.put(max_receives=3, rate={"limit": 10, "window_ms": 1000}, order="strict", result_ms=None)
    queue.put(max_recieves=3)  # wrong: a misspelt setting
    queue.put(rate={"limit": 10})  # wrong: no window
    queue.put(rate={"limit": 10, "window_ms": 1000, "brust": 3})  # wrong: a misspelt member
    queue.put(paused="yes")  # wrong: a text for a boolean
    queue.patch(max_receives=None, backoff={"base_ms": None}, policy=None)
    queue.patch(order="fairly")  # wrong: no such value
    state = queue.get()
    waiting: int = state["ready"] + state["in_flight"]
    limit: Optional[int] = state["settings"]["max_messages"]
    state["setings"]  # wrong: a misspelt field of an answer
    queue.put(**state["settings"])
    print(waiting, limit)


def others() -> Iterator[int]:
    queue.purge("dead")
    queue.purge("done")  # wrong: what is done is not purged
    redriven: int = queue.redrive(limit=10, to="others")["redriven"]
    queue.redrive(limit="10")  # wrong: a text for a number
    queue.put_schedule("nightly", {"report": "sales"}, cron="30 2 * * *", time_zone="Europe/Berlin")
    queue.put_schedule("nightly", None, crontab="30 2 * * *")  # wrong: a misspelt member
    queue.patch_schedule("nightly", cron=None, every_ms=60000)
    for schedule in queue.schedules():
        yield schedule["next_at_ms"]
        yield schedule["cron"]  # wrong: a text, or None
    message = queue.get_message("one")
    progress = message["progress"]
    yield message["progress"]["percent"]  # wrong: there may be none
    yield progress["percent"] if progress is not None else redriven


def locks_and_limits() -> types.Policy:
    with client.lock("report", mode="shared", metadata={"by": "me"}) as lock, client.hold("x", max_hold_ms=1000):
        fence: int = lock.fence
    client.lock("report", ttl="10 s")  # wrong: a misspelt option
    client.hold("report", mode="shared")  # wrong: a lock has it, a hold has not
    client.limit("user:7", limit=30, window_ms=60000, algorithm="sliding_window", cost=fence)
    client.limit("user:7", limit=30, windows_ms=60000)  # wrong: a misspelt option
    client.put_policy("api", limit=10, window_ms=1000, on_error="open")
    client.put_policy("api", 10, 1000, on_error="close")  # wrong: no such value
    client.patch_policy("api", burst=None, limit=20)
    client.patch_policy("api", limit=None)  # wrong: it has no default
    return client.get_policy("api")


def handle(message: Message) -> Dict[str, int]:
    message.reject(60000, counted=False)
    message.extend(progress={"percent": 40, "note": "page 4"})
    message.extend(progress={"percents": 40})  # wrong: a misspelt member
    schedule = message.schedule
    return {"missed": schedule["missed"] if schedule else 0}


async def handle_async(message: patternd.aio.Message) -> None:
    await message.acknowledge({"done": True})


async def handle_in_threads(message: Message) -> None:
    pass


def generate(message: Message) -> Iterator[int]:
    yield 1


async def generate_async(message: patternd.aio.Message) -> AsyncIterator[int]:
    yield 1


def works(stop: threading.Event, one: Message) -> None:
    queue.work(handle, concurrency=10, stop=stop)
    queue.work(lambda message: print(message.body))
    queue.work(print)
    queue.work(handle_in_threads)  # wrong: its body would not run
    queue.work(generate)  # wrong: its body would not run
    queue.work(handle_async)  # wrong: of the other client
    queue.work(handle(one))  # wrong: not called for each message
    queue.work(None)  # wrong: no handler
    queue.work(lambda: None)  # wrong: it takes no message
    for message in queue.messages(stop, visibility_ms=60000):
        print(message.body["to"], message.sent_at)  # wrong: it is sent_at_ms


async def works_async() -> None:
    async with patternd.aio.Client(token="secret") as asking:
        mails = asking.queue("mails")
        await mails.work(handle_async, stop=asyncio.Event())
        await mails.work(lambda message: None)
        await mails.work(generate_async)  # wrong: its body would not run
        await mails.work(handle_async, stop=threading.Event())  # wrong: an Event of threads
        print((await mails.send(1, delay_ms=5))["deliver_at_ms"])
        await mails.send(1, delay=5)  # wrong: a misspelt option
        print([group["reason"] async for group in mails.groups()])
