"""A worker of tests/libraries/ends.py: stopped.py URL QUEUE threads|aio|two|first|interrupted."""
import asyncio
import os
import random
import signal
import sys
import threading
import time

import patternd.aio
from gate import until
from patternd import Client

STEPPED = ("_threads/worker.py", "_threads/connection.py", "threading.py", "contextlib.py")


def say(text):
    os.write(1, f"{text}\n".encode())  # in one write, because several threads write


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

    async def work_two():
        async with patternd.aio.Client(url) as asking:
            await asyncio.gather(*(asking.queue(queue).work(handle_aio, 1) for _ in range(2)))

    if kind == "interrupted":
        be_interrupted(url, queue)
    elif kind == "first":
        be_signalled_at_once(url, queue)
    elif kind == "aio":
        asyncio.run(work())
    elif kind == "two":
        asyncio.run(work_two())
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    else:
        Client(url).queue(queue).work(handle, 2)
    say("done")


be_worker(*sys.argv[1:])
