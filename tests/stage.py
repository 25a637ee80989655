"""For all tests in Python: free ports, waits, and the programs that they run beside the daemon: a
private Redis, servers that faults can harm, and the daemon itself.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build"
REDIS_SERVER = os.environ.get("PATTERND_TEST_REDIS") or "redis-server"
DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--bind", "127.0.0.1")
DURABLE += ("--enable-debug-command", "yes")


class GaveUp(Exception):
    """The stage does not reach the expected state. This is not a verdict on the daemon."""


def wait_until(condition, seconds, what):
    """Checks the condition every 10 ms until it holds, and returns its value."""
    until = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise GaveUp(f"waited {seconds} s in vain for {what}")
        time.sleep(0.01)


taken_ports = set()


def free_port():
    """A free port that a restarted program can use again: it is below the ports of outgoing
    connections.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(11000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in taken_ports:
            taken_ports.add(port)
            return port
    raise GaveUp("no free port")


def connection_to(at, timeout=None):
    if isinstance(at, int):
        return socket.create_connection(("127.0.0.1", at), timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    connection.connect(str(at))
    return connection


def redis(at, *words, timeout=2.0):
    """The reply of the Redis at a port, or at the path of a socket, to a command: text, a number, a
    list, or None if no reply comes. An error is text, too.
    """

    def reply(stream):
        line = stream.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("cut off")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [reply(stream) for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode(errors="replace")

    said = [str(word).encode() for word in words]
    try:
        with connection_to(at, timeout) as connection, connection.makefile("rb") as stream:
            connection.sendall(b"*%d\r\n" % len(said) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in said))
            return reply(stream)
    except OSError:
        return None


class Process:
    """A program that faults can harm. `is_up` returns whether it serves; `announced_port` is the
    port that it announces to others. It dies with the main thread, which alone starts it.
    """

    def __init__(self, name, folder, port, command, is_up, environment=(), announced_port=None):
        self.name, self.port, self.command, self.is_up = name, port, [str(word) for word in command], is_up
        self.announced_port = announced_port or port
        self.log_path = pathlib.Path(folder, name + ".log")
        self.environment = dict(os.environ, **dict(environment))
        self.child = None
        self.is_stopped = False

    def start(self):
        if self.child:
            return
        with self.log_path.open("ab") as log:
            self.child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
            )

    def wait_up(self, seconds=15):
        wait_until(lambda: self.is_up(self.port) or self.has_ended(), seconds, self.name)
        if self.has_ended():
            raise GaveUp(f"{self.name} ended:\n{self.log_path.read_text(errors='replace')[-2000:]}")

    def has_ended(self):
        """Whether the program ended by itself; after kill() there is no child."""
        return self.child is not None and self.child.poll() is not None

    def kill(self):
        """Ends the program like a power failure, without any clean-up."""
        if self.child:
            self.child.kill()
            self.child.wait()
        self.child, self.is_stopped = None, False

    def send_signal(self, what):
        if self.child:
            self.child.send_signal(what)

    def end(self, seconds):
        """Sends SIGTERM, and returns the exit status. Returns "none" if the program did not end in
        time and was killed.
        """
        self.send_signal(signal.SIGCONT)
        self.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(seconds) if self.child else 0
        except subprocess.TimeoutExpired:
            status = "none"
        self.kill()
        return status

    def stop(self):
        self.send_signal(signal.SIGSTOP)
        self.is_stopped = self.child is not None

    def go_on(self):
        if self.is_stopped:
            self.send_signal(signal.SIGCONT)
        self.is_stopped = False


class Redis(Process):
    """A context manager that runs a Redis at a socket, with its data in a folder that is removed at
    the end.
    """

    def __init__(self, *options, environment=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="patternd-redis-"))
        self.path = self.folder / "socket"
        self.url = f"unix://{self.path}"
        command = (REDIS_SERVER, "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.folder, *options)
        super().__init__("redis", self.folder, self.path, command, redis_answers, environment)

    def __enter__(self):
        self.start()
        self.wait_up(30)
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder)


def redis_answers(port):
    return redis(port, "PING", timeout=1) == "PONG"


def redis_server(name, folder, port, *options, announced_port=None):
    home = pathlib.Path(folder, name)
    home.mkdir()
    command = (REDIS_SERVER, "--port", port, "--dir", home, *DURABLE, *options)
    return Process(name, folder, port, command, redis_answers, announced_port=announced_port)


@contextlib.contextmanager
def servers(build, topology):
    """The URLs of a `single` Redis, a `cluster`, or a Redis and its `replica`."""
    command = [f"{build}/tests/redis_servers", topology]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().split()
        finally:
            process.stdin.close()  # ends them


def is_ready(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1).status == 200
    except (OSError, urllib.error.URLError):
        return False


class Daemon:
    """A context manager that runs the daemon. An exit status other than 0 fails the test. If
    `folder` is given, it is created, and keeps the log and the data of Redis. `redis` is the URL of
    another Redis. `environment` has further variables.
    """

    def __init__(self, program, *options, folder=None, redis=None, environment=None):
        server, self.log_path = ["--embedded"], os.devnull
        if folder:
            data = pathlib.Path(folder, "redis")
            data.mkdir(parents=True)
            server, self.log_path = [f"--embedded={data}"], data.with_name("daemon.log")
        if redis:
            server = ["--redis", redis]
        self.command = [str(program), *server, "--listen", "127.0.0.1:0", *options]
        self.environment = os.environ | (environment or {})
        self.port = None

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment
        )
        self.log = open(self.log_path, "w", buffering=1)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            self.log.write(line)
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == "listening":
                self.port = int(told["message"].rsplit(":", 1)[1])
            if told.get("event") == "redis_connected":
                break
        else:
            raise AssertionError("the daemon does not start: " + "".join(lines))
        self.reader = threading.Thread(target=self.log.writelines, args=(self.process.stderr,), daemon=True)
        self.reader.start()  # a full pipe would block the daemon
        return self

    def __exit__(self, *_):
        self.process.terminate()
        status = self.process.wait(30)
        self.reader.join(10)
        self.log.close()
        assert status == 0, f"the daemon left with {status}"

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and the parsed body; text where it is not JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if body is not None and not isinstance(body, bytes):
                body, headers = json.dumps(body).encode(), {"Content-Type": "application/json"} | (headers or {})
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read().decode()
            return (
                answer.status,
                answer.headers,
                json.loads(text) if "json" in answer.headers.get_content_type() else text,
            )
        finally:
            connection.close()
