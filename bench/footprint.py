"""What bench/gauges does not count of an idle patternd: the time to start, the memory per waiting
request, and how long a wake-up takes.
"""
import re
import socket
import statistics
import subprocess
import time

import waking
from contest import Goal
from environment import ROOT, scripts_run, start_daemon, start_redis
from processes import allow_open_files, wait_until

STARTS = 20
WAITERS = 2000
QUEUES = 100
GROUP = 10  # a request in progress needs more memory than one that waits, so few are in progress at once
OTHER_FILES = 200
WOKEN, WOKEN_BRIEFLY = 10000, 1000
TESTS = ROOT / "tests"


def start_ms(stage, redis):
    """The times from fork to the first 200 of /readyz."""
    times = []
    for _ in range(STARTS):
        begun = time.monotonic()
        daemon = start_daemon(stage, redis)
        times.append((time.monotonic() - begun) * 1000)
        stage.stop(daemon)
    return times


def wait_at(port, number):
    """Sends a long poll, and returns its connection."""
    s = socket.create_connection(("127.0.0.1", port))
    body = '{"wait_ms":60000}'
    s.sendall(
        (
            f"POST /queues/empty-{number % QUEUES}/receive HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()
    )
    return s


def bytes_each(process, port, count, settled):
    """How much memory the process takes for each waiting client after the first quarter of them.
    `settled(n)` returns whether n clients wait.
    """
    waiters, before = [], 0
    for number in range(count):
        waiters.append(wait_at(port, number))
        if len(waiters) % GROUP == 0:
            wait_until(lambda: settled(len(waiters)))
        if len(waiters) == count // 4:
            before = process.resident_mib()
    grown = (process.resident_mib() - before) * 2**20 / (count - count // 4)
    for s in waiters:
        s.close()
    return grown


def bytes_of_parked(stage, redis, count):
    """A waiter runs one script, and a second one if it is the first at its queue. Redis reports the
    number of scripts, because an answer of the daemon would take memory, too.
    """
    daemon = start_daemon(stage, redis, "--max-connections", count + 100, "--max-parked", count + 100)
    before = scripts_run(redis)
    return bytes_each(daemon, daemon.port, count, lambda n: scripts_run(redis) >= before + n + min(n, QUEUES))


def bytes_of_suspended(stage, count):
    """The memory that libmicrohttpd alone takes, by tests/programs/suspender.c, which reports when
    a quarter of the clients and when all of them have connected.
    """
    program = stage.folder / "suspender"
    subprocess.run(
        [
            "cc",
            "-O2",
            "-D_GNU_SOURCE",
            f"-I{TESTS}/support",
            "-o",
            program,
            TESTS / "programs" / "suspender.c",
            TESTS / "support" / "loopback.c",
            "-lmicrohttpd",
        ],
        check=True,
    )
    suspender = stage.start(program, count)
    heard = lambda text: text in suspender.log.read_text()
    wait_until(lambda: heard("listening"))
    port = int(re.search(r"listening 127\.0\.0\.1:(\d+)", suspender.log.read_text())[1])
    said = {count // 4: "a quarter", count: "all are"}
    return bytes_each(suspender, port, count, lambda n: heard(said[n]) if n in said else True)


def woken(stage, redis, wanted):
    """(what, measured): receivers of one queue, woken one by one."""
    count = min(wanted, allow_open_files(wanted + OTHER_FILES) - OTHER_FILES)
    daemon = start_daemon(stage, redis, "--max-connections", count + 100, "--max-parked", count)
    return f"{count} receivers that wait at one queue, woken one by one", str(
        waking.measure(redis, daemon, count, wanted * 3 // 10)
    )


def measure(stage, brief):
    """(what, measured) pairs, and goals."""
    count = min(WAITERS, allow_open_files(WAITERS + OTHER_FILES) - OTHER_FILES) // (4 * GROUP) * 4 * GROUP
    redis = start_redis(stage)
    starts = start_ms(stage, redis)
    parked, suspended = bytes_of_parked(stage, redis, count), bytes_of_suspended(stage, count)
    figures = [
        ("time from start to ready", f"{statistics.median(starts):.1f} ms"),
        ("a long poll that waits", f"{parked / 1024:.2f} KiB, of which libmicrohttpd itself takes {suspended / 1024:.2f}"),
        woken(stage, redis, WOKEN_BRIEFLY if brief else WOKEN),
    ]
    return figures, [
        Goal("start to ready, ms", starts, at_most=20),
        Goal("a long poll that waits, KiB above libmicrohttpd's own", [(parked - suspended) / 1024], at_most=4),
    ]
