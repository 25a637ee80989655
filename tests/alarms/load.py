"""The healthy behaviours, as programs have them that use the client for Python. Each is at a low
rate, and counts what it does, so that a run in which one of them did not happen fails.

A behaviour is here because a simple finding would report it: a long job looks like one that hangs,
a candidate that waits for the leader's lock like one that is stuck, and a retry like a failure.
"""
import collections
import itertools
import random
import threading
import time
import traceback

from patternd import Client, LockHeld, LockLost, Problem

WAIT_MS = 20000
DAY_MS = 86400000


def each(seconds):
    """At least half as often as planned, so that a busy machine fails no run."""
    return lambda run_s: max(1, int(run_s / seconds / 2))


def once(_):
    return 1


# What is counted, and how often a run of so many seconds must have it.
LEAST = {
    "long job that reports its progress": once,
    "progress reports of the long job": each(5),
    "long messages of a strict group": once,
    "other messages of strict groups": each(2),
    "seconds that a leader led, while a candidate waited": each(1),
    "waits of that candidate": each(WAIT_MS / 1000),
    "seconds that a leader led, while a candidate polled": each(1),
    "polls of that candidate": each(3),
    "messages of bursts": each(0.25),
    "receives that waited for nothing": each(10 / 3),
    "messages to a queue that is paused": each(10),
    "messages that are due in minutes or days": each(5),
    "messages that were due later": each(10),
    "messages of a schedule": each(5),
    "mails": each(0.5),
    "mails that had failed before": each(10),
    "restarts of the workers": each(30),
    "workers that died with a mail": each(20),
    "deliveries that were put off": each(10 / 3),
    "requests that a limit refused": each(1.25),
    "turns of a semaphore": each(1),
    "turns of a lock": each(1.5),
    "cached values that were made": each(3.5),
    "pushes": each(2),
    "sends that waited for room": each(0.5),
    "results": each(3),
    "restarts of daemons": lambda _: 2,
}


class Load:
    def __init__(self, urls, seconds, seed):
        self.clients = itertools.cycle([Client(url) for url in urls])
        self.seconds, self.rng = seconds, random.Random(seed)
        self.is_stopping = threading.Event()
        self.counts, self.counting = collections.Counter(), threading.Lock()
        self.trouble = []  # of the load itself

    def start(self, parts):
        for part in parts:
            self.begin(part, self)

    def begin(self, part, *arguments):
        threading.Thread(target=self.guard, args=(part, *arguments), daemon=True).start()

    def guard(self, part, *arguments):
        try:
            return part(*arguments)
        except Exception:
            if not self.is_stopping.is_set():
                self.trouble.append(traceback.format_exc())

    def stop(self):
        self.is_stopping.set()

    def count(self, what):
        with self.counting:
            self.counts[what] += 1

    def nap(self, seconds):
        """Returns False when the run ends."""
        return not self.is_stopping.wait(seconds * self.rng.uniform(0.9, 1.1))

    def client(self):
        """Of one daemon and the other in turn."""
        return next(self.clients)

    def queue(self, name):
        return self.client().queue(name)

    def work(self, queue, handler, concurrency=1):
        """Begins a worker that ends with the run. Its handler must not fail."""
        self.begin(work, self.queue(queue), lambda message: self.guard(handler, message), concurrency, self.is_stopping)


def work(queue, handler, concurrency, stop):
    queue.work(handler, concurrency, stop=stop, wait_ms=WAIT_MS, signals=False)


# ---- Work that takes long ----


def long_job(load):
    """A job of nearly the whole run. Its worker extends it, and reports its progress."""

    def make(message):
        began, takes_s = time.monotonic(), 0.85 * load.seconds
        while (part := (time.monotonic() - began) / takes_s) < 1 and load.nap(5):
            if not message.extend(progress={"percent": int(100 * part)}):
                load.trouble.append("the delivery of the long job has ended")
            load.count("progress reports of the long job")
        if part >= 1:
            load.count("long job that reports its progress")

    load.work("reports", make)
    load.queue("reports").send({"report": "year"})


def strict_groups(load):
    """A group whose messages wait while one of them takes minutes. Other groups go past it."""

    def book(message):
        if load.nap(message.body["seconds"]):
            is_long = message.body["seconds"] > 1
            load.count(f"{'long' if is_long else 'other'} messages of {'a strict group' if is_long else 'strict groups'}")

    ledger = load.queue("ledger")
    ledger.put(order="strict")
    load.work("ledger", book, concurrency=3)
    for _ in range(2):
        for seconds in (0.4 * load.seconds, 0.1, 0.1, 0.1):
            ledger.send({"seconds": seconds}, group="acme")
    for customer in itertools.cycle(("bolt", "cord")):
        ledger.send({"seconds": 0.1}, group=customer)
        if not load.nap(2):
            return


# ---- Leaders ----


def copy_that_waits(load):
    """A copy of the program of docs/guides/leader.md."""
    client = load.client()
    while not load.is_stopping.is_set():
        try:
            with client.hold("relay", wait_ms=WAIT_MS, owner="copy-of-relay") as hold:
                while not hold.lost.is_set() and load.nap(1):
                    load.count("seconds that a leader led, while a candidate waited")
        except LockHeld:
            load.count("waits of that candidate")
        except LockLost:
            pass
        except Problem:
            load.nap(1)


def copy_that_polls(load):
    client = load.client()
    while not load.is_stopping.is_set():
        try:
            with client.lock("compactor", ttl_ms=15000) as lock:
                while not lock.lost.is_set() and load.nap(1):
                    load.count("seconds that a leader led, while a candidate polled")
        except LockHeld:
            load.count("polls of that candidate")
            load.nap(3)
        except LockLost:
            pass


# ---- Queues that fill, wait or rest ----


def bursts(load):
    """Each takes half a minute to drain, and the next one comes later."""

    def handle(_):
        load.nap(0.2)
        load.count("messages of bursts")

    load.work("imports", handle, concurrency=2)
    imports = load.queue("imports")
    while not load.is_stopping.is_set():
        for part in range(3):
            imports.send_many([{"body": {"row": 100 * part + row}} for row in range(100)])
        load.nap(75)


def parked(load):
    """A worker of a queue that is empty for the whole run."""
    queue = load.queue("refunds")
    while not load.is_stopping.is_set():
        if queue.receive(wait_ms=10000) is None:
            load.count("receives that waited for nothing")


def paused(load):
    """A queue that an operator has paused before the run, with a schedule and a worker."""
    newsletter = load.queue("newsletter")
    newsletter.patch(paused=True)
    newsletter.put_schedule("digest", {"to": "all"}, every_ms=30000)
    load.work("newsletter", lambda message: load.trouble.append(f"a paused queue delivered {message.id}"))
    while not load.is_stopping.is_set():
        newsletter.send({"to": "ann"})
        load.count("messages to a queue that is paused")
        load.nap(10)


def later(load):
    load.work("reminders", lambda _: load.count("messages that were due later"))
    reminders = load.queue("reminders")
    while not load.is_stopping.is_set():
        reminders.send({"invoice": 1}, delay_ms=20000)
        for delay_ms in (20 * 60000, 3 * DAY_MS):
            reminders.send({"invoice": 2}, delay_ms=delay_ms)
            load.count("messages that are due in minutes or days")
        load.nap(10)


def schedules(load):
    load.work("checks", lambda _: load.count("messages of a schedule"))
    load.queue("checks").put_schedule("often", {"check": "partner"}, every_ms=5000)
    load.queue("checks").put_schedule("nightly", {"check": "all"}, cron="30 2 * * *", time_zone="UTC")


def room(load):
    """Senders that are faster than the worker, and wait for room."""
    load.queue("thumbnails").put(max_messages=5)
    load.work("thumbnails", lambda _: load.nap(0.5))

    def send():
        thumbnails = load.queue("thumbnails")
        while not load.is_stopping.is_set():
            began = time.monotonic()
            try:
                thumbnails.send({"picture": 1}, wait_room_ms=4000)
            except Problem as problem:
                if problem.code != "queue_full":
                    raise
            if time.monotonic() > began + 0.1:
                load.count("sends that waited for room")

    for _ in range(3):
        load.begin(send)


# ---- Retries ----


def mails(load):
    """One in twenty messages fails once or twice. All workers restart at once, as in a deployment
    without a rolling update.
    """
    sent = itertools.count(1)

    def deliver(message):
        if message.receives <= message.body["fails"]:
            raise ConnectionError("the mail server is busy")
        load.count("mails")
        if message.receives > 1:
            load.count("mails that had failed before")

    def send():
        queue = load.queue("mails")
        while load.nap(0.5):
            number = next(sent)
            queue.send({"to": "ann", "fails": {0: 2, 20: 1}.get(number % 40, 0)})

    load.begin(send)
    while not load.is_stopping.is_set():
        stop = threading.Event()
        load.begin(work, load.queue("mails"), deliver, 2, stop)
        load.nap(27)
        stop.set()
        load.nap(3)
        load.count("restarts of the workers")


def crashes(load):
    """A worker is killed. Another one gets its message when the delivery has timed out."""
    while load.nap(20):
        body = {"visibility_ms": 3000, "wait_ms": 5000}
        if load.client().request("POST", "/queues/mails/receive", body, wait_ms=5000).body["messages"]:
            load.count("workers that died with a mail")


def put_off(load):
    """A partner answers 429 three times, so its work is put off. That is not counted as a
    failure.
    """
    tries = collections.Counter()

    def call(message):
        tries[message.id] += 1
        if tries[message.id] < 4:
            message.reject(2000, reason="the partner answered 429", counted=False)
            load.count("deliveries that were put off")

    load.work("orders", call)
    orders = load.queue("orders")
    while not load.is_stopping.is_set():
        orders.send({"order": 4711})
        load.nap(10)


# ---- Limits, turns, values ----


def limits(load):
    """Two fifths of the requests are refused."""
    client = load.client()
    client.put_policy("partner", limit=12, window_ms=10000)
    while load.nap(0.5):
        if not client.limit("partner", policy="partner").allowed:
            load.count("requests that a limit refused")


def permits(load):
    client = load.client()
    wanted = {"limit": 2, "ttl_ms": 30000, "wait_ms": WAIT_MS}
    while not load.is_stopping.is_set():
        try:
            permit = client.request("POST", "/semaphores/render/permits", wanted, wait_ms=WAIT_MS).body["permit"]
        except Problem as problem:  # a daemon that stops lets none wait
            if problem.code != "no_permit":
                raise
            continue
        load.nap(2)
        client.request("DELETE", f"/semaphores/render/permits/{permit}")
        load.count("turns of a semaphore")


def turns(load):
    client = load.client()
    while not load.is_stopping.is_set():
        try:
            with client.lock("account-7", wait_ms=WAIT_MS):
                load.nap(1.5)
            load.count("turns of a lock")
        except LockHeld:
            pass


def cached(load):
    def make():
        load.nap(0.5)
        load.count("cached values that were made")
        return {"price": 12}

    client = load.client()
    while load.nap(1):
        client.cached("prices", 3000, make)


def pushes(load):
    webhooks = load.queue("webhooks")
    while load.nap(2):
        webhooks.send({"event": "paid"})


def results(load):
    load.queue("sums").put(result_ms=60000)
    load.work("sums", lambda message: {"sum": message.body["a"] + 1})
    sums = load.queue("sums")
    while load.nap(3):
        told = sums.send({"a": 1}, wait_result_ms=10000)
        if told.get("result") == {"sum": 2}:
            load.count("results")


HEALTHY = (
    *(long_job, strict_groups),
    *(copy_that_waits, copy_that_waits, copy_that_polls, copy_that_polls),
    *(bursts, parked, parked, parked, paused, later, schedules, room),
    *(mails, crashes, put_off),
    *(limits, *[permits] * 5, *[turns] * 3, *[cached] * 3, pushes, results),
)


# ---- What is not healthy, for the self-test ----


def dead_worker(load):
    """A worker dies with a message, and others wait behind it."""
    claims = load.queue("claims")
    claims.send_many([{"body": {"claim": number}} for number in range(3)])
    load.client().request("POST", "/queues/claims/receive", {"visibility_ms": 30000})


def absent_program(load):
    load.queue("bills").send({"bill": 1})


# What must find each of them.
SICK = {
    "a worker that died": (dead_worker, [("finding", "messages_waiting claims")]),
    "a program that is not there": (
        absent_program,
        [("finding", "push_backing_off bills"), ("alert", "PatterndPushBacksOff")],
    ),
}
