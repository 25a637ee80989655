#!/usr/bin/env python3
"""A program may close kept connections at any time, and the daemon sends no delivery twice. Idle
connections do not occupy a program.
"""
import os
import random
import socket
import struct
import threading
import time

from pushing import GIVEN, OK, App, Daemon, answer, main, wait_for


def close_hard(connection):
    """Closes the connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def close_later(request, after_s, hard):
    def close():
        time.sleep(after_s)
        try:
            if hard:
                close_hard(request.connection)
            else:
                request.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    threading.Thread(target=close, daemon=True).start()


def test_closed_at_random():
    """The program closes before, within and after the answer, with and without notice."""
    rng = random.Random(4711)
    lock = threading.Lock()
    ends = {}

    def act(request):
        with lock:
            way, hard = rng.randrange(10), rng.random() < 0.5
            after = rng.choice((0, 0, 0.0001, 0.0005, 0.001, 0.003, 0.01))
            ends[request.delivery] = way
        if way == 0:
            return close_hard(request.connection) if hard else None
        if way == 1:
            request.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
            return close_hard(request.connection) if hard else None
        if way == 2:
            request.connection.sendall(OK)
            return close_hard(request.connection) if hard else None
        if way == 3:
            return answer(200, {}, "Connection: close")
        if way in (4, 5, 6, 7):
            close_later(request, after, hard)
        return OK

    with App(act) as app, Daemon({"q": {"url": app.url, "concurrency": 8}}) as daemon:
        daemon.put("q", backoff={"base_ms": 1, "max_ms": 1}, max_receives=1000)
        for size in (1, 100, 100000):
            for _ in range(6 if size == 100000 else 4):
                daemon.send("q", *["x" * size] * (10 if size == 100000 else 100))
            wait_for(lambda: daemon.is_empty("q"), 30, what=lambda: daemon.target("q"))
        app.check_once()
        counts = daemon.target("q")["counts"]
        assert counts["acknowledged"] == 860 and counts["lost"] == 0 and counts["dead"] == 0, counts
        # The daemon knows of each request that the program has read.
        assert len(app.requests) <= 860 + counts["failed"], (len(app.requests), counts)
        print("  ", len(app.requests), "requests,", app.connections, "connections,", counts)
        assert app.connections < len(app.requests)


def test_closed_behind_the_head():
    """The program closes a kept connection after the head, before the daemon sends the body. The
    daemon does not repeat the request on a new connection. The delivery counts as failed, also if
    the program has ended by then.
    """
    for leaves in (False, True):

        class Reader(App):
            is_warming = True
            reads_body = property(lambda self: self.is_warming, lambda self, _: None)

        def act(request, leaves=leaves):
            if request.app.is_warming:
                return OK
            if leaves:
                request.app.listener.shutdown(socket.SHUT_RDWR)
                request.app.listener.close()
            return close_hard(request.connection)

        slow = {"LD_PRELOAD": GIVEN["PATTERND_SLOW_SEND"], "ASAN_OPTIONS": "verify_asan_link_order=0"}
        with Reader(act) as app, Daemon({"q": app}, environment=slow) as daemon:
            daemon.put("q", backoff={"base_ms": 3600000, "max_ms": 3600000})
            for _ in range(2):
                daemon.send("q", 1)
                wait_for(lambda: daemon.is_empty("q"))
            app.is_warming = False
            connections = app.connections
            daemon.send("q", "x" * 1000, id="victim")
            message = daemon.wait_for_state("q", "victim", "delayed")
            assert message["receives"] == 1 and message["reason"], message
            assert app.pushes("victim")[0].number == connections, "it came by a new connection"
            app.check_once()


def test_closed_when_idle():
    """The program closes idle connections just when the next job comes."""
    for idle in (0.0, 0.02, 0.05):

        def act(request, idle=idle):
            if idle:
                request.connection.settimeout(idle)
            return OK

        with App(act) as app, Daemon({"q": app}) as daemon:
            daemon.put("q", backoff={"base_ms": 1, "max_ms": 1})
            for n in range(25):
                daemon.send("q", n)
                time.sleep(idle * (0.8 + 0.02 * n) + 0.002)
            wait_for(lambda: daemon.is_empty("q"))
            app.check_once()


def files_of(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def test_idle_connections_are_closed():
    """The daemon closes idle connections a second after the last job, since a program with a single
    process would wait there for the next request.
    """
    with App() as app, Daemon({"q": {"url": app.url, "concurrency": 20}}) as daemon:
        time.sleep(0.1)
        before = files_of(daemon)
        for _ in range(2):
            app.answer = lambda r: time.sleep(0.02) or OK
            daemon.send("q", *range(100))
            wait_for(lambda: daemon.is_empty("q"))
            assert app.connections > 1 and app.open
            wait_for(lambda: not app.open, 3)
            wait_for(lambda: files_of(daemon) <= before, 3, what=lambda: (before, files_of(daemon)))


def test_one_after_the_other():
    """If a program serves one connection until its end, the others still have their turn."""

    class Single(App):
        def accept(self, listener):
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                self.connections += 1
                self.serve(connection, self.connections)

    with Single() as app, Daemon({"q": {"url": app.url, "concurrency": 4}}) as daemon:
        for count in (4, 60):
            daemon.send("q", *range(count))
            wait_for(lambda: daemon.is_empty("q"), 12, what=lambda: daemon.target("q"))
        assert daemon.target("q")["counts"]["failed"] == 0
        app.check_once()


def test_answers_in_excess():
    """Bytes after an answer are not an answer to the next job."""
    for after_s in (0, 0.01):

        def act(request, after_s=after_s):
            if request.json == "fails":
                return answer(500)
            if after_s:
                request.connection.sendall(OK)
                time.sleep(after_s)
                return answer(200, {"old": True})
            return OK + answer(200, {"old": True})

        with App(act) as app, Daemon({"q": app}) as daemon:
            daemon.put("q", backoff={"base_ms": 3600000, "max_ms": 3600000}, result_ms=60000)
            for _ in range(5):
                done = daemon.send("q", "fine")[0]
                wait_for(lambda: daemon.message("q", done)["state"] == "done")
                assert daemon.message("q", done)["result"] is None
                if after_s:  # once it has come, the connection is not used again
                    wait_for(lambda: not app.open)
                failing = daemon.send("q", "fails")[0]
                daemon.wait_for_state("q", failing, "delayed")
            app.check_once()


def test_answer_before_the_body():
    """A program answers a large job without reading it, and closes the connection. Either the
    answer counts or the failure, never both.
    """

    def act(request):
        request.connection.sendall(answer(503, b"", "Retry-After: 0", "Connection: close"))
        time.sleep(0.01)

    with App(act, reads_body=False) as app, Daemon({"q": app}) as daemon:
        daemon.put("q", backoff={"base_ms": 3600000, "max_ms": 3600000})
        ids = [daemon.send("q", "x" * 900000)[0] for _ in range(3)]
        wait_for(lambda: all(len(app.pushes(i)) > 0 for i in ids))
        wait_for(lambda: daemon.target("q")["counts"]["busy"] + daemon.target("q")["counts"]["failed"] >= 3)
        counts = daemon.target("q")["counts"]
        print("  ", counts)
        assert counts["acknowledged"] == 0 and counts["dead"] == 0, counts


if __name__ == "__main__":
    main(at_once=4)
