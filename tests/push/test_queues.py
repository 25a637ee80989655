#!/usr/bin/env python3
"""A push is a receive like any other: workers may receive beside it, and the order, the budgets and
the policy of the queue hold. The program's answer is the result.
"""
import collections
import json
import random
import threading
import time

from pushing import OK, App, Daemon, answer, main, wait_for


def test_beside_pull():
    """Each message goes once to the program or to a worker."""
    pulled, is_over = [], threading.Event()

    with App(lambda r: time.sleep(0.002) or OK) as app, Daemon({"q": {"url": app.url, "concurrency": 4}}) as daemon:

        def pull():
            while not is_over.is_set():
                _, _, told = daemon.ask("POST", "/queues/q/receive", {"limit": 5, "wait_ms": 200})
                receipts = [message["receipt"] for message in told["messages"]]
                pulled.extend(message["id"] for message in told["messages"])
                if receipts:
                    status, _, told = daemon.ask("POST", "/queues/q/settle", {"acknowledge": receipts})
                    assert {d["outcome"] for d in told["deliveries"]} == {"acknowledged"}, told

        workers = [threading.Thread(target=pull) for _ in range(2)]
        for worker in workers:
            worker.start()
        ids = []
        while len(ids) < 500 or not (app.requests and pulled):
            ids += daemon.send("q", *range(50))
            time.sleep(0.02)
        try:
            wait_for(lambda: daemon.is_empty("q"), what=lambda: (daemon.counts("q"), daemon.target("q")))
        finally:
            is_over.set()
        for worker in workers:
            worker.join()
        pushed = [r.delivery[0] for r in app.requests]
        assert sorted(pushed + pulled) == sorted(ids)
        print("  ", len(pushed), "pushed,", len(pulled), "pulled")


def test_two_daemons_worth_of_targets():
    """Two targets of one daemon never get the other's messages."""
    with App() as a, App() as b, Daemon({"a": a, "b": b}) as daemon:
        for n in range(20):
            daemon.send("a", n)
            daemon.send("b", n)
        wait_for(lambda: daemon.is_empty("a") and daemon.is_empty("b"))
        assert all(r.header("Patternd-Queue") == "a" for r in a.requests) and len(a.requests) == 20
        assert all(r.header("Patternd-Queue") == "b" for r in b.requests) and len(b.requests) == 20


def test_strict_order():
    """A group has one request at a time, in the order of sending, though some fail or are busy."""
    rng = random.Random(42)
    seen, active, lock = collections.defaultdict(list), collections.Counter(), threading.Lock()

    def act(request):
        group = request.header("Patternd-Group")
        with lock:
            active[group] += 1
            assert active[group] == 1, f"two of {group} at once"
            way = rng.randrange(24)  # few are busy, since each of these costs a pause
        time.sleep(0.002)
        with lock:
            active[group] -= 1
            if way > 6:
                seen[group].append(request.json)
        if way > 6:
            return OK
        return answer(429, b"", "Retry-After: 0") if way == 0 else answer(500) if way < 4 else None

    with App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 8}}) as daemon:
        daemon.put("q", order="strict", backoff={"base_ms": 1, "max_ms": 1}, max_receives=1000)
        for n in range(25):
            for group in "abcd":
                daemon.send("q", n, group=group)
        wait_for(lambda: daemon.is_empty("q"), 20, lambda: (daemon.counts("q"), daemon.target("q")))
        assert seen == {group: list(range(25)) for group in "abcd"}, seen


def test_concurrency_of_the_queue():
    with App(lambda r: time.sleep(0.03) or OK) as app, Daemon({"q": {"url": app.url, "concurrency": 50}}) as daemon:
        daemon.put("q", concurrency=3, group_concurrency=1)
        daemon.send("q", *range(10), group="a")
        daemon.send("q", *range(30))
        wait_for(lambda: daemon.is_empty("q"))
        assert app.most_active == 3, app.most_active
        assert all(r.delivery[1] == 1 for r in app.requests)


def test_rate_and_policy():
    with App() as app, Daemon({"rate": app, "policy": app, "absent": app}) as daemon:
        daemon.put("rate", rate={"limit": 10, "window_ms": 1000, "burst": 2})
        policy = {"algorithm": "gcra", "limit": 10, "window_ms": 1000, "burst": 2}
        status, _, told = daemon.ask("PUT", "/ratelimit/policies/mail", policy)
        assert status in (200, 201), told
        daemon.put("policy", policy={"name": "mail", "key": "k"})
        began = time.monotonic()
        for queue in ("rate", "policy"):
            daemon.send(queue, *range(14))
        wait_for(lambda: daemon.is_empty("rate") and daemon.is_empty("policy"))
        for queue in ("rate", "policy"):
            times = [r.at for r in app.requests if r.header("Patternd-Queue") == queue]
            assert len(times) == 14 and 1.0 < times[-1] - times[0] < 3, (queue, times[-1] - times[0])
        # The log has the 404 of a policy that does not exist, and the target backs off.
        daemon.put("absent", policy={"name": "mail", "key": "k"})
        assert daemon.ask("DELETE", "/ratelimit/policies/mail")[0] == 204
        daemon.send("absent", 1)
        wait_for(lambda: daemon.target("absent")["reason"] == "not_received", what=lambda: daemon.target("absent"))
        wait_for(lambda: any("404" in event["message"] for event in daemon.events("push_backs_off")))
        daemon.put("absent")
        wait_for(lambda: daemon.is_empty("absent"), 12)


def test_paused_and_deleted():
    with App() as app, Daemon({"q": app}) as daemon:
        daemon.put("q", paused=True)
        daemon.send("q", 1)
        time.sleep(0.3)
        assert not app.requests
        daemon.put("q", paused=False)
        wait_for(lambda: daemon.is_empty("q"))
        assert daemon.ask("DELETE", "/queues/q")[0] == 204
        daemon.send("q", 2)
        wait_for(lambda: daemon.is_empty("q") and len(app.requests) == 2)


RESULTS = {
    "object": (b'{"a": [1, 2.50, "\\u00e9"], "b":null}', "application/json", True),
    "charset": (b'"\xc3\xa9"', "application/json; charset=utf-8", True),
    "suffix": (b"17", "application/vnd.x+json", True),
    "case": (b"true", "Application/JSON;x", True),
    "null": (b"null", "application/json", True),
    "text": (b'"x"', "text/plain", False),
    "none": (b'"x"', None, False),
    "jsonp": (b'"x"', "application/jsonp", False),
    "broken": (b'{"a":', "application/json", False),
    "two": (b"1 2", "application/json", False),
    "not_utf8": (b'"\xff"', "application/json", False),
    "twice": (b'{"a":1,"a":2}', "application/json", False),
    "deep": (b"[" * 28 + b"]" * 28, "application/json", True),
    "deeper": (b"[" * 29 + b"]" * 29, "application/json", False),
    "deepest": (b"[" * 200000 + b"]" * 200000, "application/json", False),
    "several": (b"1],[2", "application/json", False),
    "empty": (b"", "application/json", False),
    "largest": (b'"' + b"x" * 65534 + b'"', "application/json", True),
    "too_large": (b'"' + b"x" * 65535 + b'"', "application/json", False),
    "blanks": (b" " * 60000 + b"1", "application/json", True),
}


def test_deep_bodies():
    """Bodies as deep as a sender may nest them are pushed unchanged."""
    with App() as app, Daemon({"q": app}) as daemon:
        daemon.put("q", paused=True)
        sent = []
        for depth in (1, 20, 28, 29, 30, 31, 32):
            for form in ('{"body": %s}', '{"messages": [{"body": %s}]}'):
                body = "[" * depth + "]" * depth
                sent += [body] if daemon.send_text("q", form % body) == 201 else []
        assert len(sent) >= 8, sent
        daemon.put("q", paused=False)
        wait_for(lambda: daemon.is_empty("q"), what=lambda: (daemon.counts("q"), daemon.target("q")))
        assert sorted(r.body.decode() for r in app.requests) == sorted(sent)
        assert all(r.delivery[1] == 1 for r in app.requests)


def test_results():
    """The JSON of a 2xx answer is the result, for which a sender can wait. Nothing else is one."""

    def act(request):
        body, kind, _ = RESULTS[request.json]
        return answer(200, body, *([f"Content-Type: {kind}"] if kind else []))

    with App(act) as app, Daemon({"q": app, "plain": app}) as daemon:
        daemon.put("q", result_ms=60000)
        for name, (body, _, is_result) in RESULTS.items():
            message = {"body": name, "id": name, "wait_result_ms": 8000}
            status, _, told = daemon.ask("POST", "/queues/q/messages", message)
            assert status in (200, 201), (name, told)
            done = told["messages"][0]
            assert done.get("state") == "done", (name, told)
            assert done["result"] == (json.loads(body) if is_result else None), (name, str(done)[:200])
            assert daemon.message("q", name)["receives"] == 1, name
        ids = {name: daemon.send("plain", name)[0] for name in RESULTS}  # without result_ms
        for name, message_id in ids.items():
            wait_for(lambda i=message_id: daemon.message("plain", i) is None, what=name)
        # Many large ones at once.
        ids = daemon.send("q", *["largest"] * 60)
        for message_id in ids:
            wait_for(lambda i=message_id: daemon.message("q", i)["state"] == "done")
        app.check_once()
        assert daemon.target("q")["counts"]["lost"] == 0


if __name__ == "__main__":
    main(at_once=3)
