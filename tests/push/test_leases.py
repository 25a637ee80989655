#!/usr/bin/env python3
"""Leases of 15 s. While Redis does not answer or is away, the daemon closes each open request
before its lease ends, and acknowledges no message that is delivered again. The messages of a killed
daemon come back within the lease. The daemon extends the deliveries of longer work, and closes a
request whose delivery is gone.
"""
import threading
import time

from pushing import OK, App, Daemon, Redis, answer, main, wait_for


# ---- Redis that is away


def hold(request):
    """Holds the request until the daemon closes it."""
    request.wait_left()
    request.left_at = time.monotonic()


def stage(outage, end_outage):
    """Jobs are open when the outage begins. The daemon closes running requests within their lease,
    and an answer during the outage acknowledges no later delivery.
    """
    answering = threading.Event()

    def act(request):
        if request.json == "quick" or int(request.header("Patternd-Receives")) > 1:
            return OK
        if request.json == "answers":
            answering.wait(30)
            return OK
        return hold(request)

    with Redis() as redis, App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 20}}, redis=redis) as daemon:
        daemon.send("q", *["quick"] * 30)
        wait_for(lambda: daemon.is_empty("q") and daemon.target("q")["allowed"] == 20)
        warm = len(app.requests)
        holding = daemon.send("q", *["holds"] * 10)
        answered = daemon.send("q", *["answers"] * 5)
        wait_for(lambda: len(app.requests) - warm == 15)
        received = time.monotonic()
        outage(redis)
        time.sleep(0.2)
        answering.set()
        held = [r for r in app.requests if r.json == "holds"]
        wait_for(lambda: all(hasattr(r, "left_at") for r in held), 20, lambda: daemon.target("q"))
        took = max(r.left_at for r in held) - received
        # Each request is closed before its lease ends; leases were extended at most once.
        assert took < 15, took
        print(f"   closed {took:.1f} s after they were received")
        assert daemon.target("q")["open"] == 0 and daemon.target("q")["counts"]["lost"] >= 10, daemon.target("q")
        end_outage(redis)
        wait_for(lambda: daemon.is_empty("q"), 25, what=lambda: (daemon.counts("q"), daemon.target("q")))
        for message_id in holding:
            deliveries = [r.delivery[1] for r in app.pushes(message_id)]
            assert deliveries in ([1, 2], [1, 3]), deliveries
        for message_id in answered:
            assert [r.delivery[1] for r in app.pushes(message_id)][0] == 1
        app.check_once()


def test_stopped():
    stage(Redis.stop, Redis.go_on)


def test_away():
    stage(Redis.kill, Redis.start)


def test_stopped_for_a_moment():
    """If Redis stops for less than a lease, no message is lost, and no delivery is sent twice."""

    def act(request):
        time.sleep(request.json / 1000)
        return OK

    with Redis() as redis, App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 20}}, redis=redis) as daemon:
        daemon.send("q", *range(0, 40))
        daemon.send("q", *[3000] * 10)
        time.sleep(0.5)
        for _ in range(3):
            redis.stop()
            time.sleep(0.7)
            redis.go_on()
            time.sleep(0.3)
        wait_for(lambda: daemon.is_empty("q"), 20, what=lambda: (daemon.counts("q"), daemon.target("q")))
        app.check_once()
        once = {r.delivery[0] for r in app.requests}
        assert len(once) == 50
        print("  ", len(app.requests), "requests for 50 messages")


# ---- A daemon that is killed


def test_killed_daemon():
    """Another daemon delivers the messages of the 100 requests that a killed daemon had open."""

    def act(request):
        if request.json == "slow" and request.header("Patternd-Receives") == "1":
            request.wait_left()
            return None
        return OK

    with Redis() as redis, App(act) as app:
        targets = {"q": {"url": app.url, "concurrency": 100}}
        with Daemon(targets, redis=redis) as first:
            first.send("q", *["quick"] * 110)
            wait_for(lambda: first.is_empty("q") and first.target("q")["allowed"] == 100)
            ids = first.send("q", *["slow"] * 100)
            wait_for(lambda: app.active == 100)
            quick = first.send("q", *["quick"] * 20)
            time.sleep(1)
            first.kill()
            killed = time.monotonic()
        wait_for(lambda: app.active == 0, 2)
        with Daemon(targets, redis=redis) as second:
            wait_for(lambda: second.is_empty("q"), 30, what=lambda: (second.counts("q"), second.target("q")))
            took = time.monotonic() - killed
            assert took < 17, took
            print(f"   all were done {took:.1f} s after the kill")
        for message_id in ids:
            assert [r.delivery[1] for r in app.pushes(message_id)] == [1, 2], message_id
        for message_id in quick:
            assert [r.delivery[1] for r in app.pushes(message_id)] == [1], message_id
        app.check_once()


# ---- Long work


def test_longer_than_the_lease():
    """120 jobs run longer than the lease, which is more than one batch of extensions."""
    left = []

    def act(request):
        if request.json == "quick":
            return OK
        if request.json == "cancelled":
            request.wait_left()
            left.append(time.monotonic())
            return None
        if request.json == "hangs":
            request.app.ending.wait(60)
            return None
        until = time.monotonic() + 17
        while time.monotonic() < until:
            assert not request.is_left(), "a request was closed"
            time.sleep(0.2)
        return answer(200, {"took": "long"})

    # More than one batch of 100.
    app = App(act)
    targets = {"q": {"url": app.url, "concurrency": 130}, "p": {"url": app.url, "timeout_ms": 16000}}
    with app, Daemon(targets) as daemon:
        daemon.put("q", result_ms=60000, visibility_ms=1000)
        daemon.put("p", backoff={"base_ms": 3600000, "max_ms": 3600000})
        daemon.send("q", *["quick"] * 140)
        wait_for(lambda: daemon.is_empty("q") and daemon.target("q")["allowed"] == 130)
        warm = len(app.requests)
        ids = daemon.send("q", *range(120))
        hanging = daemon.send("p", "hangs")[0]
        daemon.send("q", "cancelled", id="cancelled")
        wait_for(lambda: len(app.requests) - warm == 122, what=lambda: len(app.requests))
        status, _, told = daemon.ask("DELETE", "/queues/q/messages/cancelled?in_flight=true")
        cancelled = time.monotonic()
        assert status in (200, 204), (status, told)
        for message_id in ids:
            message = daemon.wait_for_state("q", message_id, "done", 30)
            assert message["result"] == {"took": "long"} and message["receives"] == 1, message
        assert left and left[0] - cancelled < 6.5, (left, cancelled)
        message = daemon.wait_for_state("p", hanging, "delayed")
        assert message["receives"] == 1 and message["reason"] == "no answer within 16000 ms", message
        assert daemon.target("q")["counts"]["lost"] == 1 and daemon.target("p")["counts"]["failed"] == 1
        app.check_once()
        wait_for(lambda: daemon.counts("q")["in_flight"] == 0)


if __name__ == "__main__":
    main(at_once=5)
