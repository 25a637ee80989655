"""Tests what `work` of the Python client promises, by threads and by asyncio, with a daemon that
patternd.testing starts. With arguments the program is a worker of that URL and queue, which a test
ends by signals.
"""
import asyncio
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import patternd.aio
from gate import Gate, raised, run_tests, until
from patternd import Client, Problem
from patternd._requests import Pause
from patternd._work import Work
from patternd.testing import daemon


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


@for_both
def test_a_turn_is_one_request(is_aio, name):
    def counts():
        return requests("queue_message_receive"), requests("queue_delivery_settle")

    queue, seen, before = filled(name, 8), [], counts()
    loop = Loop(name, sleeping(is_aio, seen, 0.06), is_aio, concurrency=1, visibility_ms=500)  # nothing ahead
    until(lambda: is_empty(queue), "all are done")
    loop.end()
    receives, settles = (now - then for now, then in zip(counts(), before))
    assert seen == list(range(8)) and receives <= 8 + 4 and settles <= 4, (receives, settles)


@for_both
def test_as_many_at_once_as_it_may_and_ahead_in_batches(is_aio, name):
    queue, seen, before = filled(name, 2000), [], requests("queue_message_receive")
    loop = Loop(name, sleeping(is_aio, seen), is_aio)
    until(lambda: is_empty(queue), "all are done", 20)
    loop.end()
    assert sorted(seen) == list(range(2000)) and requests("queue_message_receive") - before < 400
    queue, seen = filled(f"{name}-wide", 20), []
    loop = Loop(queue.name, sleeping(is_aio, seen, 0.5), is_aio, concurrency=20)
    until(lambda: len(seen) == 20, "all run at once", 2)
    until(lambda: is_empty(queue), "all are done")
    loop.end()


@for_both
def test_what_is_slow_is_left_for_other_workers(is_aio, name):
    queue, seen = filled(name, 20), []
    loop = Loop(name, sleeping(is_aio, seen, 0.7), is_aio, concurrency=2)
    until(lambda: len(seen) >= 4, "a second round")
    # Two acknowledgements may be under way. The next round begins after 0.7 s.
    until(lambda: queue.get()["in_flight"] <= 3, "no more are held than are worked on", 0.6)
    loop.end()
    assert queue.get()["in_flight"] == 0


@for_both
def test_a_handler_that_raises_rejects_with_its_reason(is_aio, name):
    queue, seen = filled(name, 1, max_receives=2), []

    def handle(message):
        seen.append(message.receives)
        raise ZeroDivisionError("by zero")

    async def handle_aio(message):
        handle(message)

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    until(lambda: queue.get()["dead"] == 1, "it is dead")
    queue.send("more")
    until(lambda: queue.get()["dead"] == 2, "the loop goes on")
    loop.end()
    items = client.request("GET", f"/queues/{name}/messages", query={"state": "dead"}).body["items"]
    assert {item["reason"] for item in items} == {"ZeroDivisionError: by zero; max_receives"}, items
    assert seen == [1, 2, 1, 2], seen


@for_both
def test_what_the_handler_settled_is_left_alone(is_aio, name):
    queue = filled(name, 3)

    def handle(message):
        return [lambda: message.reject(60000), message.acknowledge, lambda: message.reject(dead=True)][message.body]()

    async def handle_aio(message):
        await handle(message)

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    until(lambda: queue.get()["dead"] == 1 and queue.get()["delayed"] == 1, "all are settled")
    loop.end()
    counts = queue.get()
    assert (counts["ready"], counts["in_flight"], counts["delayed"], counts["dead"]) == (0, 0, 1, 1), counts


@for_both
def test_results_are_kept_and_one_that_cannot_be_harms_no_other(is_aio, name):
    queue = filled(name, 0, result_ms=60000)
    deep = []
    for _ in range(40):
        deep = [deep]
    results = {"good": {"n": 7}, "none": None, "long": "x" * 70000, "deep": deep, "lone": "\ud800"}
    for id in results:
        queue.send(id, id=id)

    def handle(message):
        return results[message.body]

    async def handle_aio(message):
        return results[message.body]

    loop = Loop(name, handle_aio if is_aio else handle, is_aio)
    told = {id: queue.get_message(id, wait_ms=5000) for id in results}
    loop.end()
    assert {each["state"] for each in told.values()} == {"done"}, told
    assert {id: each["result"] for id, each in told.items()} == dict.fromkeys(results) | {"good": {"n": 7}}


@for_both
def test_no_message_is_done_without_work(is_aio, name):
    """A body that nothing runs, or a result that JSON refuses, must not count as success."""

    async def coroutine(*_):
        raise AssertionError("nothing awaits it")

    def generator(*_):
        yield

    async def generator_aio(*_):
        yield

    class Handler:
        __call__ = generator

    refused = [None, generator, generator_aio, Handler()] + ([] if is_aio else [coroutine])
    queue = filled(name, 0, max_receives=1)
    for handler in refused:
        raised(TypeError, Loop(name, handler, is_aio).end)
    for count in (0, -1, True, 1.5):
        raised(ValueError, Loop(name, print, is_aio, concurrency=count).end)
    returned = [generator, generator_aio, object, lambda: {1}, lambda: [object()]] + ([] if is_aio else [coroutine])
    for n in range(len(returned)):
        queue.send(n)
    loop = Loop(name, lambda message: returned[message.body](), is_aio)
    until(lambda: queue.get()["dead"] == len(returned), "all are dead")
    loop.end()
    for message in client.request("GET", f"/queues/{name}/messages?state=dead").body["items"]:
        assert "TypeError: the handler returned no JSON" in message["reason"], message


class Mute(Exception):
    def __str__(self):
        return None


class Broken(Exception):
    def __str__(self):
        raise SystemExit


class Counted(dict):
    """Its items can be read once."""

    def items(self):
        self.clear()
        return {"n": 1}.items()


class Cracked(dict):
    def items(self):
        raise Mute


@for_both
def test_a_slot_outlives_all_that_its_handler_raises_or_returns(is_aio, name):
    """Errors whose text cannot be had, results that cannot be read, a log whose handlers fail."""

    def fail(error):
        raise error

    ends = [
        lambda: fail(Mute()),
        lambda: fail(Broken()),
        lambda: fail(RuntimeError("\ud800 x" * 900)),
        lambda: fail(RuntimeError("loud")),
        lambda: fail(RecursionError()),
        lambda: Counted(n=1),
        lambda: Cracked(n=1),
        lambda: {"n": float("nan")},
        lambda: "x" * 70000,
    ]
    acknowledged = (5, 8)
    queue, seen = filled(name, len(ends), max_receives=1), []

    def handle(message):
        seen.append(message.body)
        return ends[message.body]()

    loop = Loop(name, handle, is_aio, concurrency=1)
    until(lambda: len(seen) == len(ends) and queue.get()["in_flight"] == 0, "all are worked on and settled")
    loop.end()
    counts = queue.get()
    assert (counts["ready"], counts["dead"]) == (0, len(ends) - len(acknowledged)), counts
    dead = client.request("GET", f"/queues/{name}/messages?state=dead").body["items"]
    reasons = {message["body"]: message["reason"] for message in dead}
    assert all(reason.endswith("; max_receives") for reason in reasons.values()), reasons
    assert reasons[0].startswith("an error whose text") and reasons[4].startswith("RecursionError;"), reasons


@for_both
def test_an_exception_that_is_no_error_ends_the_work(is_aio, name):
    """As do those of a `stop` that fails. The message is rejected."""

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
    """The acknowledgement was on its way, and got no answer, when the task of `work` was cancelled."""
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
def test_it_goes_on_after_an_outage_and_warns_once(is_aio, name):
    gate, queue, seen = Gate(port), filled(name, 3), []
    loop = Loop(name, sleeping(is_aio, seen), is_aio, url=gate.url)
    until(lambda: is_empty(queue), "all are done")
    gate.shut()
    time.sleep(1.2)
    queue.send("after")
    gate.open()
    until(lambda: "after" in seen and is_empty(queue), "it goes on", 30)
    loop.end()
    own = [line for line in warnings if f"'{name}'" in line]
    assert len(own) == 2 and "again after" in own[1], own


@for_both
def test_an_outcome_outlives_an_outage(is_aio, name):
    gate, queue, seen = Gate(port), filled(name, 4), []
    loop = Loop(name, sleeping(is_aio, seen, 0.3), is_aio, url=gate.url)
    until(lambda: len(seen) == 4, "all run")
    gate.shut()
    time.sleep(1)
    gate.open()
    until(lambda: is_empty(queue), "all are acknowledged", 30)
    loop.end()
    assert sorted(seen) == [0, 1, 2, 3], "worked on twice"


@for_both
def test_what_repetition_cannot_mend_ends_it(is_aio, name):
    loop = Loop("..", sleeping(is_aio, []), is_aio)
    loop.thread.join(5)
    assert raised(Problem, loop.end)[0].code == "reserved_name"


@for_both
def test_a_handler_is_told_in_time_that_its_message_is_lost(is_aio, name):
    gate, queue, told = Gate(port), filled(name, 1), []

    def handle(message):
        began.append(time.monotonic())
        told.append((message.lost.wait(5), time.monotonic()))
        raise RuntimeError("the work was given up")

    async def handle_aio(message):
        began.append(time.monotonic())
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            told.append((message.lost.is_set(), time.monotonic()))
            raise

    began = []
    loop = Loop(name, handle_aio if is_aio else handle, is_aio, url=gate.url, visibility_ms=900)
    until(lambda: began, "it runs")
    gate.shut()
    until(lambda: told, "it is told")
    assert told[0][0] and told[0][1] - began[0] < 3, (told, began)  # a busy machine wakes it late
    gate.open()
    until(lambda: len(began) == 2, "it is delivered again", 30)
    loop.stop.set()
    queue.delete()  # the next extension ends the second delivery
    until(lambda: len(told) == 2, "it is told")
    loop.end()


@for_both
def test_what_runs_for_long_or_waits_behind_it_is_extended(is_aio, name):
    queue, seen = filled(name, 6), []
    loop = Loop(name, sleeping(is_aio, seen, 2.4), is_aio, concurrency=3, visibility_ms=1500)
    until(lambda: is_empty(queue), "all are done", 30)
    loop.end()
    assert sorted(seen) == list(range(6)), "worked on twice"


@for_both
def test_what_comes_after_a_long_wait_is_worked_on_at_once(is_aio, name):
    """The request was sent earlier than the message, by more than the visibility."""
    queue, receives = filled(name, 0), []
    record = lambda message: receives.append(message.receives)  # noqa: E731

    async def record_aio(message):
        record(message)

    loop = Loop(name, record_aio if is_aio else record, is_aio, visibility_ms=1000)
    time.sleep(1.6)
    queue.send("late")
    until(lambda: is_empty(queue), "it is done")
    loop.end()
    assert receives == [1], receives


@for_both
def test_one_request_extends_what_is_held(is_aio, name):
    """It also extends messages that were received at other times: 20 messages, one every 20 ms."""

    def counts():
        return requests("queue_delivery_list_extend"), requests("queue_delivery_extend")

    queue, seen, (before, alone) = filled(name, 0), [], counts()
    loop = Loop(name, sleeping(is_aio, seen, 3), is_aio, concurrency=20, visibility_ms=1500)
    for number in range(20):
        queue.send(number)
        time.sleep(0.02)
    until(lambda: is_empty(queue), "all are done", 30)
    loop.end()
    extended, alone = counts()[0] - before, counts()[1] - alone
    assert sorted(seen) == list(range(20)), "worked on twice"
    assert 5 <= extended <= 20 and alone == 0, f"{extended} requests for 20 messages of 3 s, {alone} of one"


def test_an_interrupt_strands_nothing():
    """An exception from a signal handler, at any step of the main thread, ends all threads of the
    loop and returns its messages.
    """
    queue = filled("interrupted", 5, max_receives=1)
    command = [sys.executable, "-B", __file__, started.url, queue.name, "interrupted"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr[-2000:]
    counts = queue.get()
    assert (counts["in_flight"], counts["ready"], counts["dead"]) == (0, 5, 0), counts


@for_both
def test_signals(is_aio, name):
    queue = filled(name, 4)
    for signals, states in ((1, (0, 2)), (2, (0, 2))):
        command = [sys.executable, "-B", __file__, started.url, name, "aio" if is_aio else "threads"]
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


def test_a_signal_in_the_first_milliseconds_is_seen():
    command = [sys.executable, "-B", __file__, started.url, "first", "first"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert said.returncode == 0, said.stderr[-2000:]


def be_signalled_at_once(url, name):
    """A signal comes within 10 ms after `work` has begun to look at them."""
    queue = Client(url).queue(name)
    before = signal.getsignal(signal.SIGTERM)
    for number in range(16):
        hang = threading.Timer(20, os._exit, [1])
        hang.start()

        def kill():
            until(lambda: signal.getsignal(signal.SIGTERM) is not before, "it looks at signals")
            time.sleep(random.uniform(0, 0.01))
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=kill).start()
        queue.work(print, (4, 32)[number % 2])
        hang.cancel()


def say(text):
    os.write(1, f"{text}\n".encode())  # in one write, because several threads write


STEPPED = ("_threads/worker.py", "_threads/connection.py", "threading.py", "contextlib.py")


class Interrupted(BaseException):
    """A signal handler raises it, like a soft time limit."""


def raise_at(step):
    """Raises Interrupted in this thread at this step of the interpreter, counted in the code that
    starts the loop and waits for it. Returns the count.
    """
    steps = [0]

    def trace(frame, event, _):
        if frame.f_code.co_name == "__init__" or not frame.f_code.co_filename.endswith(STEPPED):
            return None
        frame.f_trace_opcodes = True
        steps[0] += event == "opcode"
        if steps[0] == step:
            sys.settrace(None)
            raise Interrupted
        return trace

    sys.settrace(trace)
    return steps


def be_interrupted(url, name):
    """Interrupts `work` at each step of its thread, until a step is past the last one, and while it
    waits.
    """

    def alarm(*_):
        raise Interrupted

    signal.signal(signal.SIGALRM, alarm)
    asking = Client(url)
    queue, idle, step = asking.queue(name), threading.active_count(), 0
    queue.get()
    while True:
        step, stop = step + 1, threading.Event()
        end = threading.Timer(0.1, stop.set)
        begin = raise_at if step % 10 else lambda _: signal.setitimer(signal.ITIMER_REAL, 0.05)
        end.start()
        try:
            steps = begin(step)
            queue.work(lambda message: message.lost.wait(10), 2, stop=stop, drain_ms=0, signals=False)
            is_past = step % 10 and steps[0] < step
        except Interrupted:
            is_past = False
        finally:
            sys.settrace(None)
        end.cancel()
        # One thread extends deliveries.
        until(lambda: threading.active_count() <= idle + 1, f"step {step}: the threads end")
        until(lambda: queue.get()["in_flight"] == 0, f"step {step}: the messages go back")
        if is_past or step > 600:
            return


def be_worker(url, queue, kind):
    def handle(message):
        say("begin")
        message.lost.wait(1.5)
        say("lost" if message.lost.is_set() else "end")

    async def handle_aio(message):
        say("begin")
        await asyncio.sleep(1.5)
        say("end")

    async def work():
        async with patternd.aio.Client(url) as asking:
            await asking.queue(queue).work(handle_aio, 2)

    if kind == "interrupted":
        be_interrupted(url, queue)
    elif kind == "first":
        be_signalled_at_once(url, queue)
    elif kind == "aio":
        asyncio.run(work())
    else:
        Client(url).queue(queue).work(handle, 2)
    say("done")


if len(sys.argv) > 1:
    be_worker(*sys.argv[1:])
    sys.exit()

warnings = []
handler = logging.Handler()
handler.emit = lambda record: warnings.append(record.getMessage()) or "loud" in str(record.exc_info) and 1 / 0
logging.getLogger("patternd").addHandler(handler)
with daemon() as started:
    client = started.client()
    port = int(started.url.rsplit(":", 1)[1])
    run_tests(globals(), alone=["test_a_turn_is_one_request", "test_one_request_extends_what_is_held"])
