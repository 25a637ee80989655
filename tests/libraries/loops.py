"""What the tests of `work` of the Python client share: a daemon, queues, and loops to work them."""
import asyncio
import atexit
import threading
import time

import patternd.aio
from patternd import Client
from patternd.testing import daemon

_running = daemon()
started = _running.__enter__()
atexit.register(_running.__exit__, None, None, None)
client = started.client()
port = int(started.url.rsplit(":", 1)[1])


class Loop:
    """Runs `work` in its own thread, by threads or by asyncio, until `end`."""

    def __init__(self, queue, handler, is_aio=False, url=None, **options):
        self.stop, self.error = threading.Event(), None
        target = self.run_aio if is_aio else self.run
        self.thread = threading.Thread(target=target, args=(url or started.url, queue, handler, options), daemon=True)
        self.thread.start()

    def run(self, url, queue, handler, options):
        try:
            Client(url, attempt_ms=500).queue(queue).work(handler, stop=self.stop, **options)
        except BaseException as error:
            self.error = error

    def run_aio(self, url, queue, handler, options):
        async def work():
            stop = asyncio.Event()

            async def watch():
                while not self.stop.is_set():
                    await asyncio.sleep(0.01)
                stop.set()

            watching = asyncio.ensure_future(watch())
            async with patternd.aio.Client(url, attempt_ms=500) as asking:
                await asking.queue(queue).work(handler, stop=stop, **options)
            watching.cancel()

        try:
            asyncio.run(work())
        except BaseException as error:
            self.error = error

    def end(self, seconds=20):
        self.stop.set()
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the loop does not end"
        if self.error is not None:
            raise self.error


def sleeping(is_aio, seen, seconds=0.0):
    """Returns a handler that records the bodies that it gets."""

    def handle(message):
        seen.append(message.body)
        time.sleep(seconds)

    async def handle_aio(message):
        seen.append(message.body)
        await asyncio.sleep(seconds)

    return handle_aio if is_aio else handle


def filled(name, count, **settings):
    queue = client.queue(name)
    queue.patch(backoff={"base_ms": 0, "max_ms": 0}, **settings)
    for at in range(0, count, 100):
        queue.send_many([{"body": number} for number in range(at, min(count, at + 100))])
    return queue


def stored(queue):
    """All messages that are ready."""
    return client.request("GET", f"/queues/{queue.name}/messages", query={"state": "ready", "limit": 1000}).body["items"]


def is_empty(queue):
    counts = queue.get()
    return counts["ready"] + counts["delayed"] + counts["in_flight"] + counts["dead"] == 0


def requests(operation):
    of = f'patternd_http_requests_total{{operation="{operation}"'
    lines = client.request("GET", "/metrics").body.splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines if line.startswith(of))


def for_both(test):
    """Runs a test by threads and by asyncio."""

    def run():
        for is_aio in (False, True):
            test(is_aio, f"{test.__name__[5:]}-{'aio' if is_aio else 'threads'}")

    return run
