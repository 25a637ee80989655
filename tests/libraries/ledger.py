"""A program of tests/test_ledger.py, in Python: ledger.py URL NAME. Until SIGTERM it sends, works
the queue by threads and by asyncio, holds a lock, and interrupts calls at random instants. Prints a
line of JSON for each step.
"""
import asyncio
import contextlib
import json
import logging
import os
import random
import signal
import sys
import threading
import time

import patternd.aio
from patternd import Client, LockHeld, LockLost, Problem

url, name = sys.argv[1:3]
MESSAGES, SECONDS, VISIBILITY_MS, LOCK_TTL_MS = (
    int(os.environ[variable]) for variable in ("MESSAGES", "SECONDS", "VISIBILITY_MS", "LOCK_TTL_MS")
)
SLOW_SHARE, CONCURRENCY = float(os.environ["SLOW_SHARE"]), int(os.environ["CONCURRENCY"])
WORK_MS, DRAIN_MS = int(os.environ["WORK_MS"]), int(os.environ["DRAIN_MS"])
OPTIONS = {"visibility_ms": VISIBILITY_MS, "wait_ms": 1000, "drain_ms": DRAIN_MS}
client = Client(url, timeout_ms=20000, attempt_ms=700)
other = Client(url, timeout_ms=20000, attempt_ms=700)
stop = threading.Event()
is_interruptible = False
random_s = lambda seconds: random.uniform(0, seconds)  # noqa: E731


def say(step, **more):
    os.write(1, json.dumps({"at": time.monotonic_ns(), "step": step, "by": name, **more}).encode() + b"\n")


class Interrupted(BaseException):
    """A signal handler raises it, like a soft time limit."""


def send():
    for number in range(MESSAGES):
        if stop.is_set():
            break
        client.queue("work").send(f"{name}-{number}", id=f"{name}-{number}")
        say("sent", message=f"{name}-{number}")
        time.sleep(random_s(SECONDS * 2 / MESSAGES))
    say("sent all")


def work_s():
    return random_s((2 * VISIBILITY_MS if random.random() < SLOW_SHARE else WORK_MS) / 1000)


def about(message):
    return {"message": message.body, "receipt": message.receipt, "receives": message.receives}


def handle(message):
    """Looks at `lost` while it works, as a handler should."""
    told = about(message)
    say("begin", **told)
    is_lost = message.lost.wait(work_s())
    say("lost" if is_lost else "end", **told)
    if is_lost:
        raise RuntimeError("the delivery was lost")


async def handle_aio(message):
    told = about(message)
    say("begin", **told)
    try:
        await asyncio.sleep(work_s())
    except asyncio.CancelledError:
        say("lost", **told)
        raise
    say("end", **told)


def work():
    client.queue("work").work(handle, CONCURRENCY, stop=stop, **OPTIONS)


def work_aio():
    async def run():
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        threading.Thread(target=lambda: (stop.wait(), loop.call_soon_threadsafe(stopped.set)), daemon=True).start()
        async with patternd.aio.Client(url, timeout_ms=20000, attempt_ms=700) as asking:
            queue = asking.queue("work")
            await queue.work(handle_aio, CONCURRENCY, stop=stopped, **OPTIONS)

    asyncio.run(run())


def hold():
    """A task that is cancelled at a random instant leaves the wait queue, or its lock expires."""

    async def run():
        async with patternd.aio.Client(url, timeout_ms=20000, attempt_ms=700) as asking:
            while not stop.is_set():
                task = asyncio.ensure_future(asking.lock("one", ttl_ms=LOCK_TTL_MS, wait_ms=5000).acquire())
                await asyncio.wait({task}, timeout=random_s(0.5))
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task})
                if task.cancelled() or isinstance(task.exception(), (LockHeld, Problem)):
                    continue
                lock = task.result()
                say("enter", fence=lock.fence)
                work = asyncio.ensure_future(asyncio.sleep(random_s(0.05)))
                lost = asyncio.ensure_future(lock.lost.wait())
                await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
                lost.cancel()
                say("left", fence=lock.fence)
                try:
                    await lock.release()
                except LockLost:
                    pass
                await asyncio.sleep(random_s(0.1))

    asyncio.run(run())


def interrupt(call, seconds):
    """Returns the result of a call, or None when it was ended at a random instant. Works only in
    the main thread.
    """
    global is_interruptible
    result = None
    try:
        try:
            is_interruptible = True
            signal.setitimer(signal.ITIMER_REAL, max(random_s(seconds), 1e-6))
            result = call()
        finally:
            is_interruptible = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (Interrupted, Problem):
        pass
    return result


def receive_plain(number):
    message = f"{name}-plain-{number}"
    client.queue("plain").send(message, id=message, priority=number % 10)
    say("sent", message=message)
    queue = client.queue("plain")
    received = interrupt(lambda: queue.receive(wait_ms=5000, visibility_ms=VISIBILITY_MS), 0.03)
    if received is not None:
        say("begin", **about(received))
        say("end", **about(received))
        received.acknowledge()


def interrupt_lock():
    """A lock that is acquired while its call is interrupted is free after its time to live."""
    lock = f"interrupted-{name}"
    acquired = interrupt(client.lock(lock, ttl_ms=LOCK_TTL_MS).acquire, 0.004)
    with contextlib.suppress(LockLost):  # on a busy machine it may expire before its release
        if acquired is not None:
            acquired.release()
    del acquired
    began = time.monotonic()
    with contextlib.suppress(LockLost), other.lock(lock, ttl_ms=LOCK_TTL_MS, wait_ms=20000):
        say("freed", ms=(time.monotonic() - began) * 1000)


def guarded(role):
    try:
        role()
    except BaseException as error:
        say("failed", role=role.__name__, error=repr(error))
        os._exit(1)


def main():
    """Only the main thread gets signals."""

    def alarm(*_):
        if is_interruptible:  # on a busy machine the signal may come after the timer was stopped
            raise Interrupted

    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGALRM, alarm)
    logging.getLogger("patternd").addHandler(logging.NullHandler())
    threads = [threading.Thread(target=guarded, args=(role,)) for role in (send, work, work_aio, hold)]
    for thread in threads:
        thread.start()
    number = 0
    while not stop.is_set():
        if os.environ.get("INTERRUPTS"):
            receive_plain(number)
            interrupt_lock()
            number += 1
        time.sleep(random_s(0.05))
    for thread in threads:
        thread.join()
    say("done")


guarded(main)
