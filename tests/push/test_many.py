#!/usr/bin/env python3
"""Push with a thousand targets, and with more messages than the 256 requests that may be open."""
import collections
import threading
import time

from pushing import OK, App, Daemon, main, wait_for


def resident(daemon):
    for line in open(f"/proc/{daemon.process.pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024


def test_a_thousand_targets():
    """Messages to all are delivered, at most 256 at once; an idle target takes little memory."""
    app = App(lambda r: time.sleep(0.01) or OK)
    with Daemon({}) as daemon:
        # One target first, so that libcurl is loaded and warm.
        daemon.reload({"q0": app})
        daemon.send("q0", 1)
        wait_for(lambda: daemon.is_empty("q0"))
        one = resident(daemon)
        daemon.reload({f"q{n}": app for n in range(1000)})
        wait_for(lambda: len(daemon.targets()) == 1000)
        time.sleep(0.5)
        idle = resident(daemon)
        print(f"   an idle target takes {(idle - one) / 999:.0f} bytes")
        is_sanitized = "libasan" in open(f"/proc/{daemon.process.pid}/maps").read()  # which retains memory
        assert is_sanitized or (idle - one) / 999 < 12500, (idle - one) / 999
        for n in range(0, 1000):
            daemon.send(f"q{n}", n)
        wait_for(lambda: len(app.requests) == 1001, 30, lambda: len(app.requests))
        wait_for(lambda: all(t["counts"]["acknowledged"] >= 1 for t in daemon.targets()))
        app.check_once()
        assert app.most_active <= 256, app.most_active
        assert {r.header("Patternd-Queue") for r in app.requests} == {f"q{n}" for n in range(1000)}
        # The list is in the order of the file.
        names = [t["name"] for t in daemon.targets()]
        assert names[-999:] == [f"q{n}" for n in range(1, 1000)], names[:10]
    app.__exit__()


def test_at_most_256():
    """At most 256 requests are open. Each target has its turn, also beside a backlog of another."""
    gate, order, lock = threading.Event(), [], threading.Lock()

    def act(request):
        if request.json == "quick":
            return OK
        if not gate.is_set():
            gate.wait(30)
        time.sleep(0.02)
        with lock:
            order.append(request.header("Patternd-Queue"))
        return OK

    queues = ["big"] + [f"q{n}" for n in range(30)]
    app = App(act)
    with Daemon({q: {"url": app.url, "concurrency": 256 if q == "big" else 10} for q in queues}) as daemon:
        daemon.send("big", *["quick"] * 300)
        wait_for(lambda: daemon.is_empty("big") and daemon.target("big")["allowed"] == 256)
        daemon.send("big", *["slow"] * 1500)
        wait_for(lambda: app.active == 256)
        assert daemon.metric("patternd_push_requests_open") == 256
        for queue in queues[1:]:
            daemon.send(queue, *["slow"] * 5)
        time.sleep(0.3)
        assert app.active == 256 and app.most_active == 256
        assert daemon.ask("GET", "/push")[2]["open"] == 256
        gate.set()
        wait_for(lambda: all(daemon.is_empty(q) for q in queues), 40, lambda: daemon.targets())
        assert app.most_active == 256, app.most_active
        last = max(i for i, q in enumerate(order) if q != "big")
        print("   the small ones were done after", last, "of", len(order))
        assert last < 1450, last
        app.check_once()
        assert all(t["counts"]["lost"] == 0 for t in daemon.targets())
    app.__exit__()


if __name__ == "__main__":
    main()
