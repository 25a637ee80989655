#!/usr/bin/env python3
"""When a program is killed, no message is lost. A message that kills it each time becomes a dead
letter.
"""
import os
import signal
import subprocess
import sys
import threading
import time

from pushing import OK, App, Daemon, main, wait_for

# A separate program, so that it can be killed. It prints each job that it begins and ends. The job
# "kill" kills it.
PROGRAM = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
sys.argv[1:2] = []
from pushing import OK, App
def work(request):
    os.write(1, ("begin %s %d\\n" % request.delivery).encode())
    if request.json == "kill":
        os.kill(os.getpid(), 9)
    if request.header("Patternd-Receives") == "1":
        time.sleep(request.json / 1000)
    os.write(1, b"end %s\\n" % request.header("Patternd-Message-Id").encode())
    return OK
with App(work, address=("127.0.0.1", int(sys.argv[1]))) as app:
    print("listens", app.port, flush=True)
    sys.stdin.read()
"""


class Killable:
    def __init__(self):
        self.lines, self.port, self.starts = [], 0, 0
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [sys.executable, "-B", "-c", PROGRAM, os.path.dirname(os.path.abspath(__file__)), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.starts += 1
        line = self.child.stdout.readline()
        while line and not line.startswith("listens"):  # it may serve a request before that, and be killed by it
            self.lines.append(line)
            line = self.child.stdout.readline()
        if not line:
            return
        self.port = int(line.split()[1])
        self.url = f"http://127.0.0.1:{self.port}/jobs"
        threading.Thread(target=self.lines.extend, args=(self.child.stdout,), daemon=True).start()

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(10)

    def begun(self):
        return [tuple(line.split()[1:]) for line in self.lines if line.startswith("begin")]

    def ended(self):
        return [line.split()[1] for line in self.lines if line.startswith("end")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def test_killed_in_the_middle():
    """An open delivery counts as failed, and its message comes again after the backoff. No message
    is lost.
    """
    with Killable() as app, Daemon({"q": {"url": app.url, "concurrency": 100}}) as daemon:
        daemon.put("q", backoff={"base_ms": 300, "max_ms": 300})
        daemon.send("q", *[1] * 120)  # until 100 are allowed
        wait_for(lambda: daemon.is_empty("q") and daemon.target("q")["allowed"] == 100)
        warm = len(app.begun())
        ids = daemon.send("q", *([5] * 30 + [60000] * 70))
        wait_for(lambda: len(app.begun()) - warm == 100 and daemon.counts("q")["in_flight"] == 70)
        time.sleep(0.05)
        app.kill()
        wait_for(lambda: daemon.target("q")["counts"]["failed"] == 70, what=lambda: daemon.target("q"))
        wait_for(lambda: daemon.counts("q")["delayed"] + daemon.counts("q")["ready"] == 70)
        for message in daemon.ask("GET", "/queues/q/messages?state=delayed&limit=100")[2]["items"]:
            assert message["receives"] == 1 and message["id"] in ids[30:], message
        counts = daemon.target("q")["counts"]
        assert counts["acknowledged"] == 120 + 30 and counts["lost"] == 0, counts
        # The program is away: attempts to reach it do not count as deliveries.
        wait_for(lambda: daemon.target("q")["reason"] == "not_reached", what=lambda: daemon.target("q"))
        for message_id in ids[30:]:
            assert daemon.message("q", message_id)["receives"] == 1
        app.start()
        wait_for(lambda: daemon.is_empty("q"), 20, what=lambda: (len(app.begun()), daemon.target("q")))
        second = app.begun()[warm + 100 :]
        assert sorted(second) == sorted((i, "2") for i in ids[30:]), second


def test_poison():
    """A job that always kills its program becomes a dead letter after max_receives; all other jobs
    are done.
    """
    with Killable() as app, Daemon({"q": {"url": app.url, "concurrency": 3}}) as daemon:
        daemon.put("q", backoff={"base_ms": 10, "max_ms": 10}, max_receives=3)
        is_over = threading.Event()

        def start_again():
            while not is_over.wait(0.02):
                if app.child.poll() is not None:
                    app.start()

        guard = threading.Thread(target=start_again)
        guard.start()
        try:
            poison = daemon.send("q", "kill", max_receives=3)[0]
            others = daemon.send("q", *[1] * 40, max_receives=100)
            wait_for(lambda: list(daemon.counts("q").values()) == [0, 0, 0, 0, 1], 25, lambda: daemon.counts("q"))
            wait_for(lambda: app.starts >= 4, what=lambda: app.starts)
        finally:
            is_over.set()
            guard.join()
        message = daemon.message("q", poison)
        assert message["state"] == "dead" and message["receives"] == 3, message
        assert sorted(d for d in app.begun() if d[0] == poison) == [(poison, str(n)) for n in (1, 2, 3)]
        assert len(set(app.begun())) == len(app.begun()), "a delivery was sent twice"
        assert set(app.ended()) == set(others)


def test_away_at_first():
    """While a program has not started, no delivery counts; once it listens, it receives all
    messages. The log has the begin and the end of the outage, with the number of attempts, and the
    metric counts each attempt.
    """
    app = App()
    app.leave()
    with Daemon({"q": app}) as daemon:
        ids = daemon.send("q", *range(20))
        wait_for(lambda: daemon.target("q")["counts"]["unreached"] >= 4)
        away = daemon.target("q")
        assert away["reason"] == "not_reached" and away["allowed"] == 1 and away["counts"]["failed"] == 0, away
        assert all(daemon.message("q", i)["receives"] in (0, 1) for i in ids)
        app.come()
        wait_for(lambda: daemon.is_empty("q"))
        assert all(r.delivery[1] == 1 for r in app.requests) and len(app.requests) == 20
        wait_for(lambda: daemon.events("push_goes_on") and daemon.target("q")["state"] == "on")
        attempts = daemon.target("q")["counts"]["unreached"]
        assert daemon.metric("patternd_outbound_failures_total") == attempts >= 4, attempts
        logged = daemon.events("push_failed", "push_backs_off", "push_goes_on")
        assert [event["event"] for event in logged] == ["push_failed", "push_backs_off", "push_goes_on"], logged
        assert logged[-1]["message"].endswith(f"after {attempts} failed attempts"), logged
        app.__exit__()


if __name__ == "__main__":
    main(at_once=2)
