"""Tests what the Python client makes of answers that no daemon gave."""
import asyncio
import logging
import socket
import threading

import patternd.aio
from gate import raised, run_tests, until
from patternd import Client, Problem
from patternd.testing import daemon


class Stranger:
    """A server of something else: it answers `answer` to the first bytes, and closes."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, args=(answer,), daemon=True).start()

    def serve(self, answer):
        while True:
            client, _ = self.listener.accept()
            with client:
                client.recv(65536)
                client.sendall(answer)


def test_a_wrong_address_is_named():
    async def ask(url):
        async with patternd.aio.Client(url, timeout_ms=500) as asking:
            await asking.request("GET", "/healthz")

    for url, hint in (
        (f"https://127.0.0.1:{port}", "is this address http://?"),
        (f"http://{Stranger(bytes((21, 3, 3, 0, 2, 2, 70))).address}", "is this address https://?"),
        (f"http://{Stranger(b'').address}", "is this the address of a patternd?"),
        (f"http://{Stranger(b'SSH-2.0-OpenSSH').address}", "before the end of the answer"),
    ):
        for call in (
            lambda: Client(url, timeout_ms=500).request("GET", "/healthz"),
            lambda: asyncio.run(ask(url)),
        ):
            # On a busy machine the last attempt may time out instead.
            until(lambda: hint in raised(Problem, call)[0].detail, f"{url}: {hint}")


def test_a_page_or_a_redirect_is_no_answer():
    """It comes of a proxy, and grants nothing."""
    head = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nLocation: https://x/\r\nContent-Length: 4\r\n\r\n<p/>"
    for status, code, effect in (
        (b"301 Moved", "status_301", "none"),
        (b"200 OK", "status_200", "unknown"),
        (b"404 Not Found", "status_404", "none"),
    ):
        asking = Client(f"http://{Stranger(head % status).address}", timeout_ms=300)
        for call in (asking.lock("page").acquire, lambda asking=asking: asking.queue("page").send(1)):
            problem, _ = raised(Problem, call)
            assert (problem.code, problem.effect) == (code, effect), problem


logging.getLogger("patternd").addHandler(logging.NullHandler())
with daemon() as started:
    port = int(started.url.rsplit(":", 1)[1])
    run_tests(globals())
