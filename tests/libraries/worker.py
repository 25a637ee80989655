"""The sender, workers and lock holders of tests/test_libraries.py, in Python: worker.py URL NAME.
Prints a line of JSON for each step, and ends when its stdin does.
"""
import json
import os
import random
import sys
import threading
import time

from patternd import Client, LockHeld, LockLost

url, name = sys.argv[1:3]
client = Client(url, timeout_ms=20000, attempt_ms=700)
stop = threading.Event()
printing = threading.Lock()


def say(step, **more):
    with printing:
        os.write(1, json.dumps({"at": time.monotonic_ns(), "step": step, **more}).encode() + b"\n")


def send():
    for number in range(int(os.environ["MESSAGES"])):
        client.queue("work").send(f"{name}-{number}")
        say("sent", message=f"{name}-{number}")
        time.sleep(random.uniform(0, 0.01))
        if stop.is_set():
            break


def work():
    for message in client.queue("work").messages(stop, wait_ms=300, visibility_ms=3000):
        with message:
            say("begin", message=message.body)
            time.sleep(random.uniform(0, 0.01))
            say("end", message=message.body)


def hold():
    while not stop.is_set():
        try:
            with client.lock("one", ttl_ms=3000, wait_ms=500) as lock:
                say("enter", fence=lock.fence)
                time.sleep(random.uniform(0, 0.01))
                say("leave", fence=lock.fence, lost=lock.lost.is_set())
        except LockHeld:
            pass
        except LockLost:
            say("lost")


def guarded(role):
    try:
        role()
    except BaseException as error:
        say("failed", role=role.__name__, error=repr(error))
        raise


threads = [threading.Thread(target=guarded, args=(role,)) for role in (send, work, work, hold)]
for thread in threads:
    thread.start()
sys.stdin.read()
stop.set()
for thread in threads:
    thread.join()
