#!/usr/bin/env python3
"""Work that takes longer than the lease of 15 s: its delivery is extended while its request is
open. And a request whose delivery is gone is closed.
"""
import time

from pushing import OK, App, Daemon, answer, main, wait_for


def test_longer_than_the_lease():
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
    main()
