#!/usr/bin/env python3
"""SIGHUP rereads the file of targets. Unchanged targets continue, removed targets stop once their
open requests have ended, and new targets begin. If the file has a fault, all targets stay. It also
tests the end of the daemon by SIGTERM.
"""
import signal
import time

from pushing import OK, App, Daemon, Redis, answer, main, wait_for


def test_changes():
    def act(request):
        if request.json == "slow":
            time.sleep(1.5)
        return OK

    with App(act) as old, App(act) as new:
        kept = {"url": old.url}
        with Daemon({"kept": kept, "removed": old, "changed": {"url": old.url, "concurrency": 2}}) as daemon:
            for queue in ("kept", "removed", "changed"):
                daemon.send(queue, "quick")
            wait_for(lambda: len(old.requests) == 3)
            slow = {queue: daemon.send(queue, "slow")[0] for queue in ("kept", "removed", "changed")}
            wait_for(lambda: len(old.requests) == 6)
            event = daemon.reload({"kept": kept, "changed": {"url": new.url}, "added": new.url})
            assert event["event"] == "push_read", event
            assert event["message"] == "targets: 1 unchanged, 2 stopping, 2 new", event
            stopping = [t["name"] for t in daemon.targets() if t["state"] == "stopping"]
            assert sorted(stopping) == ["changed", "removed"], stopping
            ids = {queue: daemon.send(queue, "quick")[0] for queue in ("kept", "removed", "changed", "added")}
            wait_for(lambda: {r.header("Patternd-Queue") for r in new.requests} == {"changed", "added"})
            wait_for(lambda: len(old.pushes(ids["kept"])) == 1)
            # Requests that were open when their target was removed still acknowledge.
            for queue in slow:
                wait_for(lambda q=queue: daemon.message(q, slow[q]) is None, what=queue)
            wait_for(lambda: {t["name"] for t in daemon.targets()} == {"kept", "changed", "added"})
            assert daemon.target("kept")["counts"]["acknowledged"] == 3
            time.sleep(0.2)
            assert daemon.counts("removed")["ready"] == 1, daemon.counts("removed")
            old.check_once()
            # The removed target comes back.
            daemon.reload({"removed": new.url})
            wait_for(lambda: daemon.is_empty("removed"))
            assert [t["name"] for t in daemon.targets() if t["state"] != "stopping"] == ["removed"]
            daemon.reload({})
            wait_for(lambda: not daemon.targets())


def test_faults():
    with App() as app, Daemon({"q": app}) as daemon:
        for text, reason in (
            ("", "push.json:1:1"),
            ("{", "push.json:1:2"),
            ("[]", "must be a JSON object"),
            ('{"q": {"url": "http://example.com/"}}', "/q/url: must name a loopback address"),
            ('{"q": {"url": "http://127.0.0.1:1/"}, "q": {"url": "http://127.0.0.1:2/"}}', "push.json:1:"),
            ('{"q": {"url": "http://127.0.0.1:1/", "secret_file": "/nowhere"}}', "/q/secret_file: No such file"),
        ):
            event = daemon.reload(text)
            assert event["event"] == "push_kept" and reason in event["message"], event
            assert event["message"].endswith("; the targets read before stay in use"), event
        (daemon.folder / "push.json").unlink()
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(daemon.events("push_kept")) == 7)
        assert [t["name"] for t in daemon.targets()] == ["q"]
        daemon.send("q", 1)
        wait_for(lambda: daemon.is_empty("q") and len(app.requests) == 1)


def test_reloaded_while_it_backs_off():
    app = App()
    app.leave()
    with App() as other, Daemon({"q": app}) as daemon:
        daemon.send("q", *range(10))
        wait_for(lambda: daemon.target("q")["reason"] == "not_reached")
        daemon.reload({"q": other.url})
        wait_for(lambda: daemon.is_empty("q") and len(other.requests) == 10)
        assert all(r.delivery[1] == 1 for r in other.requests)
    app.__exit__()


def test_drain():
    """On SIGTERM the daemon receives no more messages, waits for open requests, and returns other
    messages uncounted.
    """

    def act(request):
        if request.json == "slow":
            time.sleep(1)
        return OK

    with Redis() as redis, App(act) as app:
        with Daemon({"q": app}, redis=redis) as daemon:
            daemon.send("q", "quick")
            wait_for(lambda: daemon.is_empty("q"))
            slow = daemon.send("q", "slow", "slow")
            wait_for(lambda: app.active == 2)
            began = time.monotonic()
            daemon.process.terminate()
            daemon.process.wait(10)
            assert 0.3 < time.monotonic() - began < 3
        with Daemon({}, redis=redis) as daemon:
            assert all(daemon.message("q", i) is None for i in slow) and daemon.is_empty("q")
        # A request that takes longer than --drain-ms is closed; its message keeps its lease.
        app.answer = lambda request: request.wait_left(20)
        with Daemon({"q": app}, "--drain-ms", "500", redis=redis) as daemon:
            message_id = daemon.send("q", "long")[0]
            wait_for(lambda: app.active == 1)
            began = time.monotonic()
            daemon.process.terminate()
            daemon.process.wait(10)
            assert 0.4 < time.monotonic() - began < 2
        wait_for(lambda: app.active == 0, 2)
        with Daemon({}, redis=redis) as daemon:
            message = daemon.message("q", message_id)
            assert message["state"] == "in_flight" and message["receives"] == 1, message


def test_drain_returns():
    """When the daemon ends, it returns messages for which no request has begun."""
    app = App(lambda request: time.sleep(0.5) or OK)
    with Redis() as redis:
        with Daemon({"q": app, "p": {"url": app.url, "ready_path": "/ready"}}, redis=redis) as daemon:
            ids = daemon.send("q", *range(30))
            wait_for(lambda: len(app.requests) >= 5)
            daemon.process.terminate()
            daemon.process.wait(10)
        done = {r.delivery[0] for r in app.pushes()}
        with Daemon({}, redis=redis) as daemon:
            for message_id in set(ids) - done:
                message = daemon.message("q", message_id)
                assert message["state"] == "ready" and message["receives"] == 0, message
            assert all(daemon.message("q", i) is None for i in done)
    app.__exit__()


if __name__ == "__main__":
    main(at_once=3)
