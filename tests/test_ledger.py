#!/usr/bin/env python3
"""The clients of clients/ under outages: tests/test_ledger.py PATTERND python|javascript

Programs of tests/libraries/ledger.* send messages, work on a queue by `work`, and hold a lock.
During this, the daemon is killed or stopped, Redis is stopped or fails over, or programs are ended.
Each way has its own daemon and Redis, and all ways run at once. Then the ledger of their steps must
show that

- no message was lost, and none was acknowledged that was not worked on;
- a delivery had ended, or its handler knew that it was lost, when the next delivery of its message
began;
- the lock had one holder at a time, and stayed held for at most its time to live after a call that
was ended at a random instant;
- a message whose work took longer than its visibility was worked on once, and one request extended
many deliveries;
- a message that a stopping program had not begun, or not finished in time, counts as not delivered.

With PATTERND_FULL=1 it runs for a minute. When a way fails, the ledgers and the logs of all daemons
and servers are kept in build/ledger/.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(SOURCE / "chaos"))

from evidence import Evidence  # noqa: E402
from stage import Process, free_port, is_ready, redis, redis_server, wait_until  # noqa: E402
from stage_single import field  # noqa: E402

LANGUAGES = {"python": (sys.executable, "py"), "javascript": ("node", "mjs")}
PROGRAMS = 2
SECONDS, FULL_SECONDS = 3, 60
MESSAGES = 60  # that each program sends in SECONDS
VISIBILITY_MS, LOCK_TTL_MS = 2500, 1500
DRAINED_MOST = 3  # deliveries that were on their way to a program that had closed its connection
LATE_NS = 250_000_000  # the delay of a program on a busy machine
FREED_MS = LOCK_TTL_MS + 5000  # there, Redis may not answer for seconds
STOPPED_S = (0.5, 3.5)  # the longer stop outlasts VISIBILITY_MS
SETTLED_S = 40


class Switch:
    """The fixed address of a Redis that fails over. Its connections are closed when `port` changes.
    """

    def __init__(self, port):
        self.target, self.pairs = port, set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.target)) as server:
                    self.pairs.add(pair := (client, server))
                    while True:
                        for source in select.select(pair, [], [])[0]:
                            data = source.recv(65536)
                            if not data:
                                return
                            (server if source is client else client).sendall(data)
            except OSError:
                return

    def to(self, port):
        self.target = port
        for pair in list(self.pairs):
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs.clear()


class Stage:
    """A master, its replica, and a daemon; each may be harmed."""

    def __init__(self, program, folder):
        folder.mkdir()
        # No way ends a server. So none needs its data on the disk, where an fsync may take seconds.
        settings = ("--appendonly", "no", "--repl-diskless-sync-delay", 0)
        self.servers = [redis_server(f"redis-{i}", folder, free_port(), *settings) for i in (0, 1)]
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_up()
        self.switch = Switch(self.servers[0].port)
        port = free_port()
        url = f"redis://127.0.0.1:{self.switch.port}/0"
        command = (program, "--listen", f"127.0.0.1:{port}", "--redis", url, "--log-level", "warn")
        self.daemon = Process("daemon", folder, port, command, is_ready)
        self.daemon.start()
        self.daemon.wait_up()

    def fail_over(self):
        """Fails over without a loss: the master pauses its clients until the replica has all
        writes.
        """
        master, replica = self.servers
        redis(replica.port, "REPLICAOF", "127.0.0.1", master.port)
        wait_until(lambda: field(replica, "master_link_status") == "up", 10, "a replica")
        redis(master.port, "FAILOVER")
        wait_until(lambda: field(replica, "role") == "master", 10, "a new master")
        self.switch.to(replica.port)
        self.servers.reverse()

    def close(self):
        self.switch.listener.close()
        for process in (self.daemon, *self.servers):
            process.kill()


class Ledger:
    """The programs, and the lines that they print, which are also written to a file."""

    def __init__(self, language, port, path, variables):
        self.interpreter, self.ending = LANGUAGES[language]
        self.port, self.variables, self.file, self.lines = port, variables, open(path, "w", buffering=1), []
        self.count, self.programs = 0, []
        for _ in range(PROGRAMS):
            self.start()

    def start(self):
        self.count += 1
        command = [self.interpreter, SOURCE / f"libraries/ledger.{self.ending}", f"http://127.0.0.1:{self.port}"]
        more = {"PYTHONPATH": str(SOURCE.parent / "clients/python"), "PYTHONDONTWRITEBYTECODE": "1"} | self.variables
        program = subprocess.Popen([*command, f"p{self.count}"], stdout=subprocess.PIPE, env=os.environ | more)
        began = threading.Event()
        reader = threading.Thread(target=self.read, args=(program, began), daemon=True)
        reader.start()
        self.programs.append((program, reader, began))

    def read(self, program, began):
        for line in program.stdout:
            self.write(json.loads(line))
            began.set()

    def write(self, line):
        self.lines.append(line)
        self.file.write(json.dumps(line) + "\n")

    def steps(self, *names):
        return sorted((line for line in list(self.lines) if line["step"] in names), key=lambda line: line["at"])

    def end(self, which=0):
        """Sends SIGTERM, after which the program finishes its current work, once it works."""
        program, reader, began = self.programs.pop(which)
        began.wait(60)
        program.send_signal(signal.SIGTERM)
        status = program.wait(60)
        reader.join(10)
        assert status == 0, f"a program has ended with {status}: {self.steps('failed')}"

    def kill(self):
        """Kills the programs that a failed check leaves."""
        for program, _, _ in self.programs:
            program.kill()
            program.wait()

    def await_sends(self):
        """Waits until each program has sent a message since now, or has sent all. A program pauses
        between attempts. If all of them fell into outages, it would give up.
        """
        began = time.monotonic_ns()

        def is_back(line):
            return line["step"] in ("sent all", "failed") or line["step"] == "sent" and line["at"] > began

        wait_until(
            lambda: len({line["by"] for line in list(self.lines) if is_back(line)}) == self.count,
            30,
            "sends after an outage",
        )

    def await_work(self, seconds):
        """Waits until each sent message was worked on."""
        deadline = time.monotonic() + seconds
        while True:
            ends = {line["message"] for line in self.steps("end")}
            sent = {line["message"] for line in self.steps("sent") if "plain" not in line["message"]}
            if not sent - ends and len(self.steps("sent all")) == self.count:
                return
            assert not self.steps("failed"), self.steps("failed")
            assert time.monotonic() < deadline, f"{len(sent)} were sent; not worked on: {sorted(sent - ends)[:10]}"
            time.sleep(0.05)


def check_deliveries(ledger):
    """Returns how many messages were worked on more than once."""
    deliveries, over = collections.defaultdict(list), {}
    done = {line["by"]: line["at"] for line in ledger.steps("done")}  # when a program ends, its handlers end, too
    for line in ledger.steps("begin", "end", "lost"):
        if line["step"] == "begin":
            deliveries[line["message"]].append(line)
        else:
            over.setdefault(line["receipt"], line["at"])
    for begins in deliveries.values():
        for earlier, later in zip(begins, begins[1:]):
            until = over.get(earlier["receipt"], done.get(earlier["by"]))
            assert until and until < later["at"] + LATE_NS, f"two deliveries at once: {earlier}, {later}, {until}"
    return sum(len(begins) > 1 for begins in deliveries.values())


def check_lock(ledger):
    holder, fence = None, 0
    left = {line["fence"]: line["at"] for line in reversed(ledger.steps("left"))}  # the first step of each
    for line in ledger.steps("enter"):
        assert line["fence"] > fence, f"the fence fell: {fence}, {line}"
        until = left.get(holder["fence"]) if holder else 0
        assert until is not None and until < line["at"] + LATE_NS, f"the lock was held twice: {holder}, {line}"
        holder, fence = line, line["fence"]
    late = [line["ms"] for line in ledger.steps("freed") if line["ms"] > FREED_MS]
    assert not late, f"a lock was held by none for {late} ms"


def check_extensions(ledger, port, variables):
    """One request extended several messages, because they were worked on at the same time."""
    begins = {line["receipt"]: line["at"] for line in ledger.steps("begin")}
    worked_ns = [line["at"] - begins[line["receipt"]] for line in ledger.steps("end")]
    extensions = sum(int(ns / 1e6 / (int(variables["VISIBILITY_MS"]) / 3)) for ns in worked_ns)
    requests = {"queue_delivery_extend": 0, "queue_delivery_list_extend": 0}
    for line in asked(port, "/metrics").splitlines():
        for operation in requests:
            if line.startswith(f'patternd_http_requests_total{{operation="{operation}"'):
                requests[operation] += int(line.rpartition(" ")[2])
    alone, many = requests.values()
    assert alone == 0 and 0 < many < extensions / 2, f"{extensions} extensions: {requests}"
    return f"{extensions} extensions by {many} requests"


def check_returns(ledger):
    """Each unfinished delivery of a stopped program was returned, and did not count."""
    begins = ledger.steps("begin")
    counted = [line for line in begins if line["receives"] > 1]
    assert len(counted) <= DRAINED_MOST, f"{len(counted)} of {len(begins)} came after one that counts: {counted[:5]}"
    return f"{begun_again(ledger)} returned while they ran"


def begun_again(ledger):
    begins = ledger.steps("begin")
    return len(begins) - len({line["message"] for line in begins})


def asked(port, path):
    command = ["curl", "-sf", f"http://127.0.0.1:{port}{path}"]
    return subprocess.run(command, capture_output=True, check=True, timeout=10, text=True).stdout


def check_queue(ledger, port):
    """Acknowledged messages are gone, and every message that is gone was worked on. No message is
    left or lost.
    """

    def counts(queue):
        told = json.loads(asked(port, f"/queues/{queue}"))
        return {state: told[state] for state in ("ready", "delayed", "in_flight", "dead")}

    wait_until(lambda: not any(counts("work").values()), 15, f"an empty queue: {counts('work')}")
    left = sum(counts("plain").values())
    plain = {line["message"] for line in ledger.steps("sent") if "plain" in line["message"]}
    ended = {line["message"] for line in ledger.steps("end")}
    assert left >= len(plain - ended), f"{left} are left, but {len(plain - ended)} were not worked on"


# The ways to harm a stage, each of which is repeated.


def daemon_killed(stage, ledger, rng):
    stage.daemon.kill()
    time.sleep(rng.uniform(0, 0.5))
    stage.daemon.start()
    stage.daemon.wait_up()


def daemon_stopped(stage, ledger, rng):
    stage.daemon.stop()
    time.sleep(rng.choice(STOPPED_S))
    stage.daemon.go_on()


def redis_stopped(stage, ledger, rng):
    stage.servers[0].stop()
    time.sleep(rng.choice(STOPPED_S))
    stage.servers[0].go_on()


def redis_failed_over(stage, ledger, rng):
    stage.fail_over()


def programs_ended(stage, ledger, rng):
    """Starts and ends a program. INTERRUPTS also ends calls of the running programs at random
    instants.
    """
    ledger.start()
    ledger.end()


def programs_drained(stage, ledger, rng):
    """Starts and ends a program that has more messages than it works on. Some take longer than
    DRAIN_MS.
    """
    ledger.start()
    ledger.end()


def nothing_but_slow_work(stage, ledger, rng):
    pass


OUTAGES = (daemon_killed, daemon_stopped, redis_stopped, redis_failed_over)
SLOWER = {"SLOW_SHARE": "0.3", "MESSAGES": 30}  # so that handlers run when their deliveries end
WAYS = [
    (daemon_killed, {}),
    (daemon_stopped, SLOWER),
    (redis_stopped, SLOWER),
    (redis_failed_over, {}),
    (programs_ended, {"INTERRUPTS": "1"}),
    (programs_drained, {"SLOW_SHARE": "0.05", "MESSAGES": 200, "WORK_MS": "100", "DRAIN_MS": "300"}),
    # A lease that a busy machine extends in time: no outage excuses that a message comes twice.
    (nothing_but_slow_work, {"SLOW_SHARE": "1", "MESSAGES": 40, "CONCURRENCY": "20", "VISIBILITY_MS": 5000}),
]
USUAL = {"SLOW_SHARE": "0.1", "WORK_MS": "30", "DRAIN_MS": "20000", "CONCURRENCY": "4"}


def check(way, more, language, program, folder, seconds):
    rng = random.Random(way.__name__)
    stage, ledger = Stage(program, folder / way.__name__), None
    try:
        sending_s = SECONDS if way is programs_drained else seconds  # the programs that start keep its queue long
        messages = more.get("MESSAGES", MESSAGES) * sending_s // SECONDS
        variables = {"SECONDS": sending_s, "VISIBILITY_MS": VISIBILITY_MS, "LOCK_TTL_MS": LOCK_TTL_MS}
        variables |= USUAL | more | {"MESSAGES": messages}
        variables = {name: str(value) for name, value in variables.items()}
        ledger = Ledger(language, stage.daemon.port, folder / f"{way.__name__}.jsonl", variables)
        wait_until(lambda: len({line["message"] for line in ledger.steps("begin")}) >= 6, 30, "work")
        deadline, count = time.monotonic() + seconds, 0
        while time.monotonic() < deadline or way is programs_drained and count < 20 and not begun_again(ledger):
            time.sleep(rng.uniform(0.2, 0.8))
            ledger.write({"at": time.monotonic_ns(), "step": "fault"})
            way(stage, ledger, rng)
            count += 1
            if way in OUTAGES:
                ledger.await_sends()
        ledger.await_work(3 * seconds + SETTLED_S)
        while ledger.programs:
            ledger.end()
        twice = check_deliveries(ledger)
        check_lock(ledger)
        check_queue(ledger, stage.daemon.port)
        worked, locks = len(ledger.steps("end")), len(ledger.steps("enter"))
        seen = [f"{worked} deliveries, {twice} messages twice, {locks} locks"]
        if way is nothing_but_slow_work:
            assert not twice, f"{twice} were worked on twice"
            seen.append(check_extensions(ledger, stage.daemon.port, variables))
        if way is programs_drained:
            seen.append(check_returns(ledger))
        return f"{way.__name__} {count} times: {', '.join(seen)}"
    finally:
        if ledger is not None:
            ledger.kill()
        stage.close()


def main():
    program, language = sys.argv[1:3]
    seconds = FULL_SECONDS if os.environ.get("PATTERND_FULL") else SECONDS
    kept = pathlib.Path(program).resolve().parent / "ledger" / language
    with Evidence(kept) as evidence:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            checks = [
                pool.submit(check, way, more, language, program, evidence.path, seconds) for way, more in WAYS
            ]
        for done in checks:
            print(done.result(), flush=True)
        evidence.has_passed = True


main()
