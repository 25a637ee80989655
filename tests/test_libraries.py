#!/usr/bin/env python3
"""The clients of clients/, beside a daemon with its own Redis:
tests/test_libraries.py PATTERND FAULT_PROXY python|javascript

1. tests/libraries/promises.* checks what the client promises. Its environment has the addresses of
the daemon and of its proxies.
2. Processes of tests/libraries/worker.* send messages, work on them and hold a lock, while each
connection is cut after another number of bytes.
3. The same processes run while the fault proxy delays, cuts, resets and refuses connections.

2. and 3. keep a ledger. It must show that no message was lost, none was worked on twice, and the
lock had one holder at a time. All three run at once, each with its own daemon. When one fails, the
ledgers and the logs of all daemons and servers are kept in build/libraries/.
"""
import collections
import concurrent.futures
import contextlib
import http.server
import itertools
import json
import os
import pathlib
import random
import select
import socket
import subprocess
import sys
import threading
import time

from stage import Daemon, Redis

SOURCE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(SOURCE / "chaos"))

from evidence import Evidence  # noqa: E402

LANGUAGES = {"python": (sys.executable, "py"), "javascript": ("node", "mjs")}
PROCESSES = 2
SEED = 22
MESSAGES = 100  # that each process sends
CUT_BYTES = 1400  # more bytes than a request and its answer have
SILENCE_S = 1  # longer than an attempt of worker.*; then the proxy resets a connection that lost bytes
FAULTS = [
    "delay_ms=30",
    "cut=1",
    "cut=1 cut_at=20",
    "cut=1 cut_at=150",
    "refuse=1",
    "reset=1",
    "drop_up=1",
    "drop_down=1",
    "slice=7",
    "bytes_per_second=20000",
]


class BadWay(http.server.BaseHTTPRequestHandler):
    """A proxy between a client and its daemon. Of the attempts with one Idempotency-Key or one
    body, the first is answered 503 and not sent on. The second is done but answered 504, and the
    third succeeds.
    """

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers["Idempotency-Key"] or (self.command, self.path, body)
        self.server.attempts[key].append(time.monotonic())
        attempt = len(self.server.attempts[key])
        status, effect = {1: (503, "none"), 2: (504, "unknown")}.get(attempt, (0, ""))
        answered, told = {}, None
        if attempt > 1:
            names = ("Content-Type", "Idempotency-Key", "Idempotency-TTL-Ms", "Lock-Token", "Fill-Ticket")
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            done, answered, told = self.server.daemon.ask(self.command, self.path, body or None, headers)
        if attempt < 3:
            answered = {"Content-Type": "application/problem+json"}
            told = {"status": status, "code": "redis_unavailable", "effect": effect, "detail": "by the test"}
            if attempt == 1:
                answered["Retry-After"] = "1"
        content = b"" if told in (None, "") else json.dumps(told).encode()
        self.send_response(status or done)
        for name in ("Content-Type", "Retry-After", "Idempotent-Replayed"):
            if answered.get(name):
                self.send_header(name, answered[name])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = serve
    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionError:  # the client has left
            self.close_connection = True

    def log_message(self, *_):
        pass


class Cutter:
    """A proxy to `port` that cuts every other connection at its n-th byte. n grows by `stride` from
    0 to CUT_BYTES, and each n is used for a request and then for an answer.
    """

    def __init__(self, port, stride):
        self.port = port
        cuts = itertools.chain.from_iterable(((n, None), (None, n)) for n in range(0, CUT_BYTES, stride))
        self.limits = itertools.chain.from_iterable((cut, (None, None)) for cut in cuts)
        self.is_through = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            limits = next(self.limits, None)
            if limits is None:
                self.is_through.set()
            threading.Thread(target=self.carry, args=(client, limits or (None, None)), daemon=True).start()

    def carry(self, client, limits):
        """A connection without a limit ends after its third answer, so that another one follows."""
        is_limited = limits != (None, None)
        with client, socket.create_connection(("127.0.0.1", self.port)) as daemon:
            left = {client: limits[0], daemon: limits[1]}
            answers = 0
            while True:
                for source in select.select([client, daemon], [], [])[0]:
                    target = daemon if source is client else client
                    try:
                        data = source.recv(65536)
                        if left[source] is not None:
                            data = data[: left[source]]
                            left[source] -= len(data)
                        target.sendall(data)
                    except OSError:
                        return
                    answers += source is daemon
                    if not data or left[source] == 0 or (not is_limited and answers == 3):
                        return


class Proxy:
    """A context manager that runs the fault proxy."""

    def __init__(self, program, port):
        self.process = subprocess.Popen([program, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def set(self, faults):
        self.process.stdin.write(f"0 {faults}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n", faults

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


class Ledger:
    """Worker processes, and their output, which is also written to the file `path`."""

    def __init__(self, language, port, path):
        interpreter, ending = LANGUAGES[language]
        self.file = open(path, "w", buffering=1)
        self.lines, self.processes, self.readers = [], [], []
        for number in range(PROCESSES):
            command = [interpreter, SOURCE / f"libraries/worker.{ending}", f"http://127.0.0.1:{port}", f"w{number}"]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(MESSAGES=str(MESSAGES))
            )
            reader = threading.Thread(target=self.read, args=(process,), daemon=True)
            reader.start()
            self.processes.append(process)
            self.readers.append(reader)

    def read(self, process):
        for line in process.stdout:
            self.write(json.loads(line))

    def write(self, line):
        self.lines.append(line)
        self.file.write(json.dumps(line) + "\n")

    def steps(self, *names):
        return sorted((line for line in list(self.lines) if line["step"] in names), key=lambda line: line["at"])

    def await_work(self, seconds):
        deadline = time.monotonic() + seconds
        while len(self.steps("end")) < PROCESSES * MESSAGES and time.monotonic() < deadline:
            assert not self.steps("failed"), self.steps("failed")
            time.sleep(0.05)

    def close(self):
        for process in self.processes:
            process.stdin.close()
        codes = [process.wait(30) for process in self.processes]
        for reader in self.readers:
            reader.join(10)
        self.file.close()
        assert codes == [0] * PROCESSES, f"{codes}: {self.steps('failed')}"

    def check(self, daemon):
        ends = collections.Counter(line["message"] for line in self.steps("end"))
        begins = collections.Counter(line["message"] for line in self.steps("begin"))
        sent = [line["message"] for line in self.steps("sent")]
        assert len(sent) == PROCESSES * MESSAGES, f"{len(sent)} were sent"
        assert not set(sent) - ends.keys(), f"lost: {set(sent) - ends.keys()}"
        assert not ends.keys() - set(sent), f"never sent: {ends.keys() - set(sent)}"
        twice = [message for message, count in begins.items() if count > 1]
        assert not twice and begins == ends, f"worked twice: {twice}"
        holder, fence = None, 0
        for line in self.steps("enter", "leave"):
            if line["step"] == "enter":
                assert holder is None, f"the lock was held twice: {holder} and {line}"
                assert line["fence"] > fence, f"the fence fell: {fence}, {line}"
                holder, fence = line, line["fence"]
            else:
                assert holder["fence"] == line["fence"] and not line["lost"], f"{holder}, {line}"
                holder = None
        assert holder is None and fence, "the lock was not held, or not left"
        queue = daemon.ask("GET", "/queues/work")[2]
        counts = {state: queue[state] for state in ("ready", "delayed", "in_flight", "dead")}
        assert not any(counts.values()), f"left in the queue: {counts}"
        assert daemon.ask("DELETE", "/queues/work")[0] == 204
        return len(sent), len(self.steps("leave"))


def environment(**more):
    return os.environ | {"PYTHONPATH": str(SOURCE.parent / "clients/python"), "PYTHONDONTWRITEBYTECODE": "1"} | more


@contextlib.contextmanager
def quorum(program, folder):
    """The port of a daemon that asks three more servers for locks."""
    with contextlib.ExitStack() as running:
        members = ",".join(running.enter_context(Redis()).url for _ in range(3))
        daemon = running.enter_context(Daemon(program, "--lock-quorum", members, folder=folder / "quorum"))
        while daemon.ask("GET", "/locks/quorum")[0] != 200:
            time.sleep(0.05)
        yield daemon.port


def check_promises(language, program, folder):
    path = folder / "socket"
    with (
        Daemon(program, "--listen", f"unix:{path},127.0.0.1:0", folder=folder / "single") as daemon,
        quorum(program, folder) as quorum_port,
    ):
        ask_for_promises(language, daemon, path, quorum_port)
    return "promises"


def ask_for_promises(language, daemon, socket_path, quorum_port):
    interpreter, ending = LANGUAGES[language]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), BadWay) as way:
        way.daemon, way.attempts = daemon, collections.defaultdict(list)
        threading.Thread(target=way.serve_forever, daemon=True).start()
        ways = environment(
            PATTERND_URL=f"http://127.0.0.1:{daemon.port}",
            PATTERND_BAD_WAY=f"http://127.0.0.1:{way.server_port}",
            PATTERND_SOCKET=str(socket_path),
            PATTERND_QUORUM=f"http://127.0.0.1:{quorum_port}",
        )
        command = [interpreter, SOURCE / f"libraries/promises.{ending}"]
        done = subprocess.run(command, env=ways, timeout=60)
        way.shutdown()
        assert done.returncode == 0, f"promises.{ending} failed"
        assert len(way.attempts) >= 5, way.attempts
        for key, times in way.attempts.items():
            assert len(times) == 3, f"{key}: not three attempts: {times}"
            assert 1 <= times[1] - times[0] < 5, f"{key}: Retry-After was 1 s: {times}"
            assert times[2] - times[1] < 2, f"{key}: no Retry-After: {times}"


def check_cuts(language, program, folder):
    with Daemon(program, folder=folder / "cut") as daemon:
        cutter = Cutter(daemon.port, 13)
        ledger = Ledger(language, cutter.listener.getsockname()[1], folder / "cuts.jsonl")
        ledger.await_work(60)
        assert cutter.is_through.wait(40), "not every cut was made"
        ledger.close()
        cutter.listener.close()
        return "cuts: %d messages, %d locks" % ledger.check(daemon)


def check_faults(language, program, fault_proxy, folder):
    rng, count = random.Random(SEED), 0
    with Daemon(program, folder=folder / "faulty") as daemon, Proxy(fault_proxy, daemon.port) as proxy:
        ledger = Ledger(language, proxy.port, folder / "faults.jsonl")
        deadline = time.monotonic() + 9
        while time.monotonic() < deadline:
            fault = FAULTS[count % len(FAULTS)]
            ledger.write({"at": time.monotonic_ns(), "step": "fault", "fault": fault})
            proxy.set(fault)
            count += 1
            time.sleep(SILENCE_S if fault.startswith("drop") else rng.uniform(0.05, 0.35))
            proxy.set("")
            time.sleep(rng.uniform(0.05, 0.25))
        ledger.await_work(20)
        ledger.close()
        return "%d faults: %d messages, %d locks" % (count, *ledger.check(daemon))


def main():
    program, fault_proxy, language = sys.argv[1:4]
    kept = pathlib.Path(program).resolve().parent / "libraries" / f"{language}-{SEED}"
    with Evidence(kept) as evidence:
        folder = evidence.path
        with concurrent.futures.ThreadPoolExecutor() as pool:
            checks = [
                pool.submit(check_promises, language, program, folder),
                pool.submit(check_cuts, language, program, folder),
                pool.submit(check_faults, language, program, fault_proxy, folder),
            ]
        for check in checks:
            print(check.result(), flush=True)
        evidence.has_passed = True


main()
