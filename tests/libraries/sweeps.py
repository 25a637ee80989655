"""Ends calls and loops of the Python client at every step: by exceptions at the opcodes of a call,
as a signal handler raises them, and of the threads of `work`; by cancellations at each turn of
asyncio's loop. No lock may stay held, and no message in flight, that no program has. No message may
be acknowledged that was not worked on.

With STRIDE=1 in the environment each opcode is tried; a test of the suite tries each n-th.
"""
import asyncio
import gc
import linecache
import os
import sys
import threading
import time

import patternd.aio
from gate import run_tests, until
from patternd import Client
from patternd.testing import daemon

PACKAGE = os.path.dirname(patternd.__file__)
STRIDE = int(os.environ.get("STRIDE", "23"))
FILES = ("_threads/worker.py", "_work.py")  # of the threads of `work`
LEFT_MOST = 3  # steps of a call: the last ones, before the caller has what it returns


class Injected(BaseException):
    pass


class Injector:
    """Raises Injected at the opcode number `step` of these files of the client, in any thread that
    traces. Where a Condition is acquired it does not, since Python can lose its release there.
    """

    def __init__(self, step, files=("",)):
        self.left, self.files, self.where, self.lock = step, files, None, threading.Lock()

    def trace(self, frame, event, _):
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) or not file.endswith(self.files):
            return None
        frame.f_trace_opcodes = True
        if "with self._changed" in linecache.getline(file, frame.f_lineno or 0):
            return self.trace
        if event in ("opcode", "line") and self.where is None:
            with self.lock:
                self.left -= 1
                if self.left == 0:
                    code = frame.f_code
                    self.where = f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {code.co_name}"
            if self.left == 0:
                raise Injected
        return self.trace


def injected(call):
    """Calls it again and again, until no step is left. Yields where the exception came, and the
    result.
    """
    step, where = 1, ""
    while where is not None:
        injector, returned = Injector(step), None
        sys.settrace(injector.trace)
        try:
            returned = call(step)
        except (Injected, SystemError):  # Python 3.9 may make this of that
            pass
        finally:
            sys.settrace(None)
        where = injector.where
        yield step, where, returned
        step += STRIDE


def nobody_holds(places, is_held):
    """What an ended call got is released, unless it ended after the client's last step: Python has
    no guard for that instant, and the ttl ends it.
    """
    deadline = time.monotonic() + 30
    while len(left := [step for step in places if is_held(step)]) > LEFT_MOST and time.monotonic() < deadline:
        time.sleep(0.2)
    told = [places[step] for step in left]
    assert len(left) <= LEFT_MOST and all(place.endswith((" acquire", " receive")) for place in told), told
    assert len(places) > 300 / STRIDE, "it was not traced"
    print(f"{len(places)} steps; left: {told}", flush=True)


def test_an_interrupted_call_leaves_no_lock():
    places = {}
    for step, where, lock in injected(lambda step: client.lock(f"swept-{step}", ttl_ms=60000).acquire()):
        places[step] = where
        if lock is not None:
            lock.release()
    nobody_holds(places, lambda step: client.request("GET", f"/locks/swept-{step}").body["held"])


def test_an_interrupted_call_leaves_no_message():
    places = {}

    def receive(step):
        return client.queue(f"swept-{step}").receive(visibility_ms=60000)

    for step in range(1, 5000, STRIDE):
        client.queue(f"swept-{step}").send(step)
    for step, where, message in injected(receive):
        places[step] = where
        if message is not None:
            message.acknowledge()
    nobody_holds(places, lambda step: client.queue(f"swept-{step}").get()["in_flight"])


def turns(call, count=120):
    """Cancels a call of asyncio's client after each number of turns of the loop. Yields what it
    returned, or None.
    """

    async def run():
        results = []
        async with patternd.aio.Client(started.url) as asking:
            for turn in range(count):
                task = asyncio.ensure_future(call(asking, turn))
                for _ in range(turn):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    results.append((turn, task.result()))
            for turn, result in results:
                await (result.release() if hasattr(result, "release") else result.acknowledge())
            await asyncio.sleep(1)  # tasks of this loop release what was granted
        return len(results)

    assert asyncio.run(run()) < count, "none was cancelled"


def test_a_cancelled_call_leaves_no_lock():
    turns(lambda asking, turn: asking.lock(f"cancelled-{turn}", ttl_ms=60000).acquire())
    held = lambda: [n for n in range(120) if client.request("GET", f"/locks/cancelled-{n}").body["held"]]  # noqa: E731
    until(lambda: not held(), "all are free")


def test_a_cancelled_call_leaves_no_message():
    for _ in "ab":
        client.queue("cancelled").send_many({"body": n} for n in range(100))
    turns(lambda asking, turn: asking.queue("cancelled").receive(visibility_ms=60000))
    until(lambda: client.queue("cancelled").get()["in_flight"] == 0, "all are returned")


def test_work_that_is_cancelled_keeps_its_promises():
    """After each number of turns of the loop: what was not worked on is not acknowledged. When
    `work` has ended, nothing is in flight.
    """

    async def run():
        async with patternd.aio.Client(started.url) as asking:
            for turn in range(0, 400, 16):
                queue, seen = asking.queue("worked"), []
                await queue.send_many([{"body": n} for n in range(3)])

                async def handle(message):
                    await asyncio.sleep(0)
                    seen.append(message.body)

                task = asyncio.ensure_future(queue.work(handle, 2, signals=False))
                for _ in range(turn):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait({task})
                assert task.cancelled()
                counts = await queue.get()
                left = counts["ready"] + counts["delayed"] + counts["in_flight"]
                assert counts["in_flight"] == 0, (turn, counts)
                assert 3 - left <= len(seen), (turn, counts, seen)
                await queue.purge()

    asyncio.run(run())


def test_work_whose_threads_fail_keeps_its_promises():
    """An exception at any step of any of its threads: `work` ends with it, or continues."""
    step, past = 1, sys.version_info[:2] == (3, 12)  # whose interpreter crashes when threads are traced
    while not past:
        injector, queue, seen, stop = Injector(step, FILES), client.queue(f"failing-{step}"), [], threading.Event()
        queue.send_many({"body": n} for n in range(3))

        def handle(message, seen=seen):
            sys.settrace(None)
            seen.append(message.body)
            sys.settrace(injector.trace)

        def work(queue=queue, handle=handle, stop=stop):
            try:
                queue.work(handle, 2, stop=stop, visibility_ms=1000, drain_ms=200)
            except Injected:
                pass

        threading.settrace(injector.trace)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        end = time.monotonic() + 0.5
        while thread.is_alive() and len(seen) < 3 and injector.where is None and time.monotonic() < end:
            time.sleep(0.01)
        stop.set()
        thread.join(20)
        threading.settrace(None)
        assert not thread.is_alive(), f"{injector.where}: it does not end"
        # The traceback of an exception may refer to a message, which is extended until it is freed.
        until(lambda: gc.collect() >= 0 and queue.get()["in_flight"] == 0, f"{injector.where}: all are released")
        counts = queue.get()
        assert 3 - counts["ready"] - counts["delayed"] <= len(seen), (injector.where, counts, seen)
        queue.delete()
        past, step = injector.where is None, step + 15 * STRIDE


threading.excepthook = lambda told: told.exc_type is Injected or sys.__excepthook__(*told[:3])
with daemon() as started:
    client = Client(started.url)
    port = int(started.url.rsplit(":", 1)[1])
    run_tests(globals(), alone=[name for name in list(globals()) if name.startswith("test_")])
