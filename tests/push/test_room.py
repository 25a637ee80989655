#!/usr/bin/env python3
"""Closed requests make room for others, and a lack of memory stops no target for ever."""
import threading

from pushing import OK, App, Daemon, main, wait_for


def test_cancelled_requests_make_room():
    """When deliveries are cancelled, their closed requests make room for other targets."""

    def act(request):
        if request.json == "holds":
            request.wait_left()
            return None
        return OK

    app = App(act)
    with Daemon({"big": {"url": app.url, "concurrency": 256}, "small": app}) as daemon:
        daemon.send("big", *["quick"] * 300)
        wait_for(lambda: daemon.is_empty("big") and daemon.target("big")["allowed"] == 256)
        ids = daemon.send("big", *["holds"] * 256)
        wait_for(lambda: app.active == 256)
        small = daemon.send("small", *range(10))
        wait_for(lambda: daemon.target("big")["open"] == 256)
        for message_id in ids[:2]:
            daemon.ask("DELETE", f"/queues/big/messages/{message_id}?in_flight=true")
        wait_for(lambda: daemon.is_empty("small"), 9, lambda: daemon.targets())
        assert {r.delivery for r in app.requests if r.header("Patternd-Queue") == "small"} == {(i, 1) for i in small}
        for message_id in ids[2:]:
            daemon.ask("DELETE", f"/queues/big/messages/{message_id}?in_flight=true")
        wait_for(lambda: app.active == 0, 10)
        assert daemon.target("big")["counts"]["lost"] == 256
    app.__exit__()


def test_little_memory():
    """Messages for which --max-request-memory has no room return to the queue, uncounted."""
    gate = threading.Event()
    app = App(lambda request: gate.wait(1) or OK)
    options = ("--max-body-bytes", "100000", "--max-request-memory", "1400000")
    with Daemon({"q": {"url": app.url, "concurrency": 64, "timeout_ms": 60000}}, *options) as daemon:
        daemon.put("q", max_receives=3)
        daemon.send("q", *["warm"] * 70)
        wait_for(lambda: daemon.target("q")["allowed"] == 64 and daemon.is_empty("q"), 30, lambda: daemon.target("q"))
        daemon.put("q", max_receives=3, paused=True)
        ids = [daemon.send("q", "x" * 90000)[0] for _ in range(12)]
        daemon.put("q", max_receives=3)
        wait_for(lambda: daemon.is_empty("q"), 40, lambda: (daemon.counts("q"), daemon.target("q")))
        for message_id in ids:
            assert [r.delivery[1] for r in app.pushes(message_id)] == [1], message_id
    app.__exit__()


def test_hanging_pushes_leave_room():
    """Large messages of programs that hang leave room for large requests, and for other targets."""
    gate = threading.Event()

    def act(request):
        if len(request.body) > 1000:
            gate.wait(60)
        return OK

    app = App(act)
    options = ("--max-request-memory", str(16 << 20))
    with Daemon({"big": {"url": app.url, "concurrency": 64, "timeout_ms": 60000}, "small": app}, *options) as daemon:
        daemon.send("big", *["warm"] * 70)
        wait_for(lambda: daemon.target("big")["allowed"] >= 32 and daemon.is_empty("big"), 30)
        for _ in range(16):
            daemon.send("big", "x" * 900000)
        wait_for(lambda: daemon.target("big")["open"] >= 4)
        daemon.send("other", "x" * 900000)
        ids = daemon.send("small", *range(10))
        wait_for(lambda: daemon.is_empty("small"), 9, lambda: daemon.targets())
        assert len({r.delivery for r in app.requests if r.header("Patternd-Queue") == "small"}) == len(ids)
        assert daemon.target("big")["open"] <= 6, daemon.target("big")
        gate.set()
        wait_for(lambda: daemon.is_empty("big"), 30, lambda: daemon.target("big"))
    app.__exit__()


if __name__ == "__main__":
    main(at_once=2)
