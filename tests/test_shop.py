#!/usr/bin/env python3
"""Runs examples/shop in its four languages, each beside its own daemon. All print the same and
leave the same data in Redis, although the first attempt of each POST is refused, and the answer to
the second is lost. tests/test_shop.py PATTERND SHOP_IN_C
"""
import collections
import concurrent.futures
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

from stage import Daemon

SHOP = pathlib.Path(__file__).resolve().parent.parent / "examples/shop"
SAID = """\
checkout: tab 2 has to wait, tab 1 is at it
checkout: tab 1 placed order 1
checkout: tab 2 placed order 2
checkout: tab 1 comes too late, its fence is stale
payment: in time for order 1
worker: order 2 was not paid in time
comment 1: sent
comment 2: sent
comment 3: sent
comment 4: not yet
comment 4: sent
courier: bea is 0.8 km away
courier: cem is 1.9 km away
visitors: 2 today
"""


class BadWay(http.server.BaseHTTPRequestHandler):
    """A proxy between a shop and its daemon. Of three tries with one Idempotency-Key, or of one
    message with an id, the first is answered 503 and not sent on. The second is done but answered
    504, and the third succeeds. A limit decision without a key is only refused once, because a
    second one would count twice.
    """

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {
            k: v for k, v in self.headers.items() if k.lower() in ("content-type", "idempotency-key", "lock-token")
        }
        tries = 3
        if self.command == "POST":
            key = self.headers["Idempotency-Key"]
            if not key and self.path == "/ratelimit":
                self.server.decisions += 1
                tries = 1 if self.server.decisions % 2 else 3
            else:
                self.server.tries[key or (self.path, body)] += 1
                tries = self.server.tries[key or (self.path, body)]
        if tries > 1:
            status, answered, said = self.server.daemon.ask(self.command, self.path, body or None, headers)
        if tries < 3:
            status, effect = ((503, "none"), (504, "unknown"))[tries - 1]
            answered = {"Content-Type": "application/problem+json", "Retry-After": "0"}
            said = {"status": status, "code": "redis_unavailable", "effect": effect, "detail": "so says the test"}
        self.send_response(status)
        for name in ("Content-Type", "Retry-After"):
            if answered.get(name):
                self.send_header(name, answered[name])
        content = json.dumps(said).encode() if said != "" else b""
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = serve

    def log_message(self, *_):
        pass


def check_state(name, daemon):
    def looks(path):
        return daemon.ask("GET", path)[2]

    for message in ("order-1", "order-2"):  # cancelled; acknowledged
        status, _, _ = daemon.ask("GET", f"/queues/unpaid/messages/{message}")
        assert status == 404, f"{name}: {message} is still there"
    queue = looks("/queues/unpaid")
    assert [queue[state] for state in ("ready", "delayed", "in_flight", "dead")] == [0, 0, 0, 0], f"{name}: {queue}"
    assert looks("/counters/shop")["counters"] == {"orders": 2}, f"{name}: an order was counted twice"
    lock = looks("/locks/cart-ann")
    assert not lock["held"], f"{name}: {lock}"
    status, _, stale = daemon.ask("POST", "/fences/cart-ann", {"fence": lock["fence"] - 1})
    assert (status, stale.get("highest")) == (409, lock["fence"]), f"{name}: the fence let {stale} pass"
    assert looks("/geo/couriers")["size"] == 3 and looks("/uv/shop")["count"] == 2, name


def run(name, *command):
    with Daemon(sys.argv[1]) as daemon, http.server.ThreadingHTTPServer(("127.0.0.1", 0), BadWay) as way:
        way.daemon, way.tries, way.decisions = daemon, collections.Counter(), 0
        threading.Thread(target=way.serve_forever, daemon=True).start()
        environment = os.environ | {
            "PATTERND_URL": f"http://127.0.0.1:{way.server_port}",
            "PYTHONPATH": str(SHOP.parent.parent / "clients/python"),
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        way.shutdown()
        assert done.returncode == 0 and done.stdout == SAID, f"{name}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert set(way.tries.values()) == {3}, f"{name}: not three tries: {way.tries}"
        check_state(name, daemon)


def main():
    shops = {
        "shell": [SHOP / "shop.sh"],
        "Python": [sys.executable, SHOP / "shop.py"],
        "JavaScript": ["node", SHOP / "shop.mjs"],
        "C": [sys.argv[2]],
    }
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for shop in [pool.submit(run, name, *command) for name, command in shops.items()]:
            shop.result()


main()
