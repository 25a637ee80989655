#!/usr/bin/env python3
"""The daemon pushes nothing until the ready_path answers 2xx, and checks it again after the program
was away. It also tests how many requests a target begins with.
"""
import collections
import threading
import time

from pushing import OK, App, Daemon, answer, main, wait_for


def test_not_before_it_is_ready():
    ready = []

    def act(request):
        if request.method == "GET":
            assert request.path == "/ready?x=1" and request.body == b"", request.line
            assert request.header("Patternd-Message-Id") is None
            return ready[0] if ready else answer(503, b"", "Retry-After: 3600")
        return OK

    with App(act) as app:
        target = {"url": app.url + "/deep?y=2", "ready_path": "/ready?x=1"}
        with Daemon({"q": target}) as daemon:
            ids = daemon.send("q", *range(10))
            wait_for(lambda: len(app.requests) >= 3)
            waiting = daemon.target("q")
            assert waiting["state"] in ("backing_off", "checking") and waiting["reason"] == "not_ready", waiting
            assert not app.pushes() and daemon.counts("q")["ready"] == 10
            for not_ready in (answer(302, b"", f"Location: {app.url}"), answer(199), answer(404), answer(500)):
                ready[:] = [not_ready]
                count = len(app.requests)
                wait_for(lambda: len(app.requests) > count + 1, 25)
                assert not app.pushes()
                if not_ready.startswith(b"HTTP/1.1 302"):
                    break  # the backoff grows, and the other answers are treated like this one
            ready[:] = [answer(204)]
            wait_for(lambda: daemon.is_empty("q"), 12, what=lambda: daemon.target("q"))
            assert sorted(r.delivery for r in app.pushes()) == sorted((i, 1) for i in ids)
            checks = len(app.requests) - len(app.pushes())
            # The program goes away and comes back: the daemon checks it again, and pushes.
            app.leave()
            daemon.send("q", *range(5))
            wait_for(lambda: daemon.target("q")["counts"]["unreached"] >= 1)
            time.sleep(0.3)
            app.come()
            wait_for(lambda: daemon.is_empty("q"), 12, what=lambda: daemon.target("q"))
            assert len(app.requests) - len(app.pushes()) > checks
            assert all(r.delivery[1] == 1 for r in app.pushes())
            assert daemon.target("q")["counts"]["failed"] == 0


def test_ready_and_hanging():
    """The daemon gives up a hanging check of the ready_path after 2 s, and checks again."""

    def act(request):
        if request.method == "GET" and len(request.app.requests) == 1:
            request.wait_left(20)
            return None
        return OK

    with App(act) as app, Daemon({"q": {"url": app.url, "ready_path": "/"}}) as daemon:
        daemon.send("q", 1)
        wait_for(lambda: daemon.is_empty("q"), 8)
        assert app.requests[1].at - app.requests[0].at < 3.5


def test_slow_start():
    """A target begins with one request and may have one more with each success. After a failure to
    reach its program it has one again.
    """
    gates, lock = collections.deque(), threading.Lock()
    most = []

    def act(request):
        with lock:
            most.append(request.app.active)
        time.sleep(0.05)
        return OK

    with App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 5}}) as daemon:
        daemon.put("q", paused=True)
        daemon.send("q", *range(30))
        daemon.put("q", paused=False)
        wait_for(lambda: daemon.is_empty("q"))
        assert most[0] == 1 and most[1] <= 2 and max(most) == 5, most
        assert daemon.target("q")["allowed"] == 5
        app.leave()
        daemon.send("q", 1)
        wait_for(lambda: daemon.target("q")["counts"]["unreached"] >= 1)
        assert daemon.target("q")["allowed"] == 1
        app.come()
        wait_for(lambda: daemon.is_empty("q"))


if __name__ == "__main__":
    main(at_once=3)
