#!/usr/bin/env python3
"""Redis that does not answer, or is away, while requests are open: each is closed before its lease
ends, and nothing is acknowledged that is worked on again elsewhere.
"""
import concurrent.futures
import threading
import time

from pushing import OK, App, Daemon, Redis, main, wait_for


def hold(request):
    """Until its daemon leaves it."""
    request.wait_left()
    request.left_at = time.monotonic()


def stage(outage, end_outage):
    """Jobs are open when the outage begins: those that run are closed within their lease, and what
    is answered meanwhile is not acknowledged for another delivery.
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
        # Each is closed before its lease ends; they were extended once at the most.
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


def test_stopped_or_away():
    """Both at the same time, since they wait for leases to end."""
    ways = ((Redis.stop, Redis.go_on), (Redis.kill, Redis.start))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(stage, *way) for way in ways]:
            done.result()


def test_stopped_for_a_moment():
    """Shorter than a lease: nothing is lost, and nothing is worked on twice."""

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


if __name__ == "__main__":
    main()
