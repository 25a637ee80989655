"""How long a message takes to a waiting receiver, with many receivers at one queue.

One client on loopback sends a message, waits until a receiver has it, and makes that receiver wait
again. So the times include two requests of this client.
"""
import dataclasses
import json
import re
import select
import socket
import time

from environment import expect, scripts_run
from processes import READY_S, wait_until

GROUP = 100  # requests that begin to wait at once: Redis answers many more later than the daemon's timeout


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), READY_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def request(method, path, body=None):
    text = json.dumps(body).encode() if body is not None else b""
    kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(text) if body is not None else b""
    return b"%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s" % (method.encode(), path.encode(), kind, text)


def more(s):
    """Returns the bytes that arrive next. Raises if the connection was closed."""
    data = s.recv(65536)
    expect(data, "the daemon closed a connection")
    return data


def answer(s):
    """Returns the body of an answer, which must be a success."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += more(s)
    head, body = data.split(b"\r\n\r\n", 1)
    expect(head.startswith(b"HTTP/1.1 2"), f"patternd: {data}")
    found = re.search(rb"^content-length: *(\d+)", head, re.M | re.I)  # 204 has none
    length = int(found[1]) if found else 0
    while len(body) < length:
        body += more(s)
    return body


def gauge(s, name):
    s.sendall(request("GET", "/metrics"))
    return next(float(line.split()[1]) for line in answer(s).decode().splitlines() if line.startswith(name + " "))


@dataclasses.dataclass
class Woken:
    times_ms: list
    scripts: float  # a message: send, receive, wait again
    idle: str  # the work while no message is sent

    def quantile(self, share):
        return sorted(self.times_ms)[int(len(self.times_ms) * share)]

    def __str__(self):
        return f"p50 {self.quantile(0.5):.2f} ms, p99 {self.quantile(0.99):.2f} ms"


def measure(redis, daemon, count, messages):
    """`count` receivers wait; each message wakes one."""
    control, sender = connect(daemon.port), connect(daemon.port)
    receive = request("POST", "/queues/bench/receive", {"wait_ms": 60000, "acknowledge": True})
    send = request("POST", "/queues/bench/messages", {"body": "hello"})
    poll, waiters = select.epoll(), {}
    for _ in range(count):
        s = connect(daemon.port)
        waiters[s.fileno()] = s
        poll.register(s, select.EPOLLIN)
        s.sendall(receive)
        if len(waiters) % GROUP == 0 or len(waiters) == count:
            wait_until(lambda: gauge(control, "patternd_requests_waiting") == len(waiters))
    time.sleep(0.2)
    before, cpu = scripts_run(redis), daemon.cpu_seconds()
    time.sleep(2)
    idle = f"{scripts_run(redis) - before} scripts, {(daemon.cpu_seconds() - cpu) / 2 * 100:.1f} % CPU"
    before, times = scripts_run(redis), []
    for _ in range(messages):
        start = time.perf_counter()
        sender.sendall(send)
        ready = poll.poll(READY_S)
        expect(ready, "patternd: no receiver got the message")
        fd = ready[0][0]
        times.append((time.perf_counter() - start) * 1000)
        expect(b"hello" in answer(waiters[fd]), "patternd: a receiver got no message")
        answer(sender)
        waiters[fd].sendall(receive)
    calls = (scripts_run(redis) - before) / messages
    for s in waiters.values():
        s.close()
    return Woken(times, calls, idle)
