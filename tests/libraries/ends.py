"""Tests how `work` of the Python client ends, by threads and by asyncio: by `stop`, by signals, by
a cancellation, by errors.
"""
import asyncio
import logging
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import patternd.aio
from gate import Gate, raised, run_tests, until
from loops import Loop, client, filled, for_both, is_empty, port, sleeping, started, stored
from patternd import Problem
from patternd._requests import Pause
from patternd._work import Work

STOPPED = pathlib.Path(__file__).with_name("stopped.py")


@for_both
def test_an_exception_that_is_no_error_ends_the_work(is_aio, name):
    """So does an exception of `stop`. The message is rejected."""

    class Ended(BaseException):
        pass

    class Stop:
        def is_set(self):
            raise Ended

        wait = is_set

    async def wait():
        raise Ended

    def handle(message):
        raise Ended

    queue = filled(name, 1, max_receives=1)
    loop = Loop(name, handle, is_aio)
    loop.thread.join(20)
    assert isinstance(loop.error, Ended) and queue.get()["dead"] == 1
    stop = Stop()
    if is_aio:
        stop.wait = wait

        async def work():
            async with patternd.aio.Client(started.url) as asking:
                await asking.queue(name).work(print, stop=stop)

        raised(Ended, lambda: asyncio.run(work()))
    else:
        raised(Ended, lambda: client.queue(name).work(print, stop=stop))


@for_both
def test_a_stop_is_seen_while_outcomes_cannot_be_sent(is_aio, name):
    """Only turns settle here: what settles between them gets no answer for 4 s."""
    settle, begun = Work.settle, []

    def settle_not(work, *more):
        if work.options.queue != name:
            return (yield from settle(work, *more))
        work.put_back(more[0])
        yield Pause(4)
        raise Problem(503, {"code": "redis_unavailable"})

    async def handle_aio(message):
        begun.append(time.monotonic())
        await asyncio.sleep(0.02)

    def handle(message):
        begun.append(time.monotonic())
        time.sleep(0.02)

    queue, Work.settle = filled(name, 1000), settle_not
    loop = Loop(name, handle_aio if is_aio else handle, is_aio, concurrency=1, drain_ms=500)
    until(lambda: len(begun) > 30, "many have begun")
    stopped = time.monotonic()
    loop.end()
    ended = time.monotonic()
    late = [at - stopped for at in begun if at > stopped]
    assert all(seconds < 1 for seconds in late), late  # 0.1 s on a machine that is not busy
    assert ended - stopped < 0.5 + 2 + 3, f"{ended - stopped} s, and 2.5 s are the bound"
    Work.settle = settle
    queue.delete()


@for_both
def test_a_stop_ends_in_an_outage(is_aio, name):
    """2 s after `drain_ms` at the latest. What was done and not acknowledged comes again."""
    gate, queue, seen = Gate(port), filled(name, 1), []
    loop = Loop(name, lambda message: seen.append(gate.shut()), is_aio, url=gate.url, drain_ms=500)
    until(lambda: seen, "its work is done")
    began = time.monotonic()
    loop.end()
    assert time.monotonic() - began < 0.5 + 2 + 3
    assert queue.get()["in_flight"] == 1


@for_both
def test_a_stop_is_seen_while_it_connects(is_aio, name):
    """To an address that does not answer, not even by a refusal."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        others = [socket.socket() for _ in range(4)]
        for other in others:
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        loop = Loop(name, print, is_aio, url=url)
        time.sleep(0.7)
        began = time.monotonic()
        loop.end()
        assert time.monotonic() - began < 3
        for other in others:
            other.close()


@for_both
def test_a_cancelled_loop_keeps_what_is_done(is_aio, name):
    """The acknowledgement was sent and not answered when the task of `work` was cancelled."""
    if not is_aio:
        return
    gate, queue, seen = Gate(port), filled(name, 1), []

    async def handle(message):
        seen.append(message.body)
        gate.is_mute = True

    async def run():
        async with patternd.aio.Client(gate.url, attempt_ms=500) as asking:
            task = asyncio.ensure_future(asking.queue(name).work(handle, 1))
            while not seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            gate.is_mute = False
            task.cancel()
            began = time.monotonic()
            await asyncio.wait({task})
            assert task.cancelled() and time.monotonic() - began < 1.5, "it waits for nothing"

    asyncio.run(run())
    assert is_empty(queue) and seen == [0]


@for_both
def test_a_stop_finishes_what_was_received(is_aio, name):
    queue, seen = filled(name, 30), []
    loop = Loop(name, sleeping(is_aio, seen, 0.5), is_aio, concurrency=3)
    until(lambda: len(seen) == 3, "three run")
    loop.end()
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"], len(seen)) == (0, 27, 3), counts
    idle = Loop(f"{name}-idle", sleeping(is_aio, seen), is_aio)
    time.sleep(0.2)
    began = time.monotonic()
    idle.end()
    assert time.monotonic() - began < 3, "an idle loop waits for its receive"


@for_both
def test_a_stop_returns_what_has_not_begun(is_aio, name):
    """They return at once and uncounted: with `max_receives` 1 a counted delivery is the last."""
    queue, seen, go_on = filled(name, 60, max_receives=1), [], threading.Event()

    def handle(message):
        seen.append(message.body)
        return message.body < 10 or go_on.wait(10)

    async def handle_aio(message):
        seen.append(message.body)
        while message.body >= 10 and not go_on.is_set():
            await asyncio.sleep(0.01)

    loop = Loop(name, handle_aio if is_aio else handle, is_aio, concurrency=2)
    until(lambda: len(seen) == 12 and queue.get()["in_flight"] == 50, "all are held, and two run")
    loop.stop.set()
    until(lambda: queue.get()["in_flight"] == 2, "what has not begun is returned")
    left = [(item["body"], item["receives"]) for item in stored(queue)]
    assert left == [(body, 0) for body in range(12, 60)], left
    go_on.set()
    loop.end()
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"], counts["dead"], len(seen)) == (0, 48, 0, 12), counts


@for_both
def test_at_the_limit_of_a_stop_all_go_back(is_aio, name):
    queue, begun, told = filled(name, 5, max_receives=1), [], []

    def handle(message):
        begun.append(message.body)
        told.append(message.lost.wait(10))

    async def handle_aio(message):
        begun.append(message.body)
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            told.append(message.lost.is_set())
            raise

    loop = Loop(name, handle_aio if is_aio else handle, is_aio, concurrency=2, drain_ms=300)
    until(lambda: len(begun) == 2, "two run")
    loop.end(10)
    until(lambda: told == [True, True], "their handlers are told")
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"], counts["dead"]) == (0, 5, 0), counts
    assert {(item["receives"], item["reason"]) for item in stored(queue)} == {(0, None)}


@for_both
def test_what_repetition_cannot_mend_ends_it(is_aio, name):
    loop = Loop("..", sleeping(is_aio, []), is_aio)
    loop.thread.join(5)
    assert raised(Problem, loop.end)[0].code == "reserved_name"


def test_an_interrupt_strands_nothing():
    """An exception from a signal handler, at any step of the main thread, ends all threads of the
    loop and returns its messages.
    """
    queue = filled("interrupted", 5, max_receives=1)
    command = [sys.executable, "-B", STOPPED, started.url, queue.name, "interrupted"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr[-2000:]
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"], counts["dead"]) == (0, 5, 0), counts


@for_both
def test_signals(is_aio, name):
    queue = filled(name, 4)
    for signals, states in ((1, (0, 2)), (2, (0, 2))):
        command = [sys.executable, "-B", STOPPED, started.url, name, "aio" if is_aio else "threads"]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for _ in range(2):
            assert worker.stdout.readline() == "begin\n"
        for number in range(signals):
            worker.send_signal((signal.SIGTERM, signal.SIGINT)[number])
            time.sleep(0.2)
        said = worker.stdout.read()
        assert worker.wait(10) == 0
        counts = queue.get()
        assert (counts["in_flight"], counts["ready"]) == states, (signals, counts)
        if signals == 1:
            assert said == "end\nend\ndone\n", said
        else:
            assert said.endswith("done\n") and "end" not in said, said


def test_a_signal_ends_all_workers_of_a_loop():
    queue = filled("two", 4)
    command = [sys.executable, "-B", STOPPED, started.url, "two", "two"]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert worker.stdout.readline() == "begin\n"
    worker.send_signal(signal.SIGTERM)
    said = worker.communicate(timeout=10)[0]
    assert (worker.returncode, said) == (0, "end\nend\ndone\n"), said
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"]) == (0, 2), counts


def test_a_signal_in_the_first_milliseconds_is_seen():
    command = [sys.executable, "-B", STOPPED, started.url, "first", "first"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert said.returncode == 0, said.stderr[-2000:]


logging.getLogger("patternd").addHandler(logging.NullHandler())
run_tests(globals())
