"""Support for the tests of push: programs that receive messages, the daemon with its file of
targets, and a Redis that tests can stop and kill. The programs write to their sockets themselves,
so that an answer may be as bad as a test needs.

Each test_*.py here is a program. `test_x.py PATTERND` runs all its functions test_*, each in a
process; `test_x.py PATTERND NAME...` runs only the named ones.
"""
import collections
import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import stage  # noqa: E402

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
# Removed from the environment, where the daemon would read these variables as options.
GIVEN = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PATTERND_")}
PATIENCE = float(GIVEN.get("PATTERND_PATIENCE", 1))


def wait_for(condition, seconds=10, what=None):
    """Waits until the condition holds, and returns its value."""
    until = time.monotonic() + seconds * PATIENCE
    while not (value := condition()):
        said = what() if callable(what) else what
        assert time.monotonic() < until, f"waited {seconds} s in vain" + (f": {said}" if said else "")
        time.sleep(0.01)
    return value


# ---- Programs ----


class Request:
    """A request as a program reads it. If its sender left early, only `line` is complete."""

    def __init__(self, app, connection, line, number):
        self.app, self.connection, self.number = app, connection, number
        self.line, self.at = line.decode("latin-1"), time.monotonic()
        self.method, self.path = (self.line.split(" ") + ["", ""])[:2]
        self.raw_headers, self.body = [], b""

    def read_head(self, stream):
        while (line := stream.readline()).strip():
            self.raw_headers.append(tuple(line.decode("latin-1").rstrip("\r\n").split(": ", 1)))
        return line != b""

    def read_body(self, stream):
        length = int(self.header("content-length", 0))
        self.body = stream.read(length)
        return len(self.body) == length

    def header(self, name, default=None):
        return next((h[-1] for h in self.raw_headers if h[0].lower() == name.lower()), default)

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def delivery(self):
        """The id and the number of the delivery; a program must see each pair once."""
        return self.header("Patternd-Message-Id"), int(self.header("Patternd-Receives", 0))

    def wait_left(self, seconds=30):
        """Waits until the sender has closed the connection. Hundreds of requests wait like this."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        assert poll.poll(seconds * 1000 * PATIENCE) and self.is_left(), f"open for {seconds} s"

    def is_left(self):
        """Whether the sender has closed the connection."""
        self.connection.setblocking(False)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.setblocking(True)


class App:
    """A program that receives messages. `answer(request)` returns the bytes to send, or None to
    close the connection; it may also use request.connection. With `reads_body` False the program
    does not read bodies. `requests` has each request whose first line was read.
    """

    def __init__(self, answer=lambda request: OK, family=socket.AF_INET, address=None, reads_body=True):
        self.answer, self.reads_body, self.family = answer, reads_body, family
        self.requests, self.connections, self.open = [], 0, set()
        self.active, self.most_active, self.lock = 0, 0, threading.Lock()
        self.ending = threading.Event()
        self.address = address or {socket.AF_INET: ("127.0.0.1", 0), socket.AF_INET6: ("::1", 0)}[family]
        self.listener = None
        self.come()

    def come(self):
        """Listens, at the same port as before."""
        self.listener = socket.socket(self.family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(self.address)
        self.listener.listen(512)
        if self.family != socket.AF_UNIX:
            self.address = self.listener.getsockname()[:2]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def leave(self):
        """Closes all sockets, as if the program had been killed."""
        # accept() in another thread holds the listener until it is shut down.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.leave()

    @property
    def port(self):
        return self.address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/jobs"

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(connection)
                self.connections += 1
                number = self.connections
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, connection, number):
        try:
            with connection, connection.makefile("rb") as stream:
                while self.serve_one(connection, stream, number):
                    pass
        except OSError:
            pass
        finally:
            with self.lock:
                self.open.discard(connection)

    def serve_one(self, connection, stream, number):
        line = stream.readline()
        if not line:
            return False
        request = Request(self, connection, line.strip(), number)
        is_whole = request.read_head(stream) and (not self.reads_body or request.read_body(stream))
        with self.lock:
            self.requests.append(request)
            self.active += 1
            self.most_active = max(self.most_active, self.active)
        try:
            answer = self.answer(request) if is_whole else None
        finally:
            with self.lock:
                self.active -= 1
        if answer is None:
            return False
        connection.sendall(answer)
        return True

    def pushes(self, message_id=None):
        return [
            r for r in list(self.requests)
            if r.method == "POST" and message_id in (None, r.header("Patternd-Message-Id"))
        ]  # fmt: skip

    def check_once(self):
        """Asserts that no delivery was sent twice."""
        again = [d for d, n in collections.Counter(r.delivery for r in self.pushes()).items() if n > 1]
        assert not again, f"sent more than once: {again}"


def answer(status, body=b"", *headers):
    """An HTTP answer. `headers` are lines; a body that is not bytes is sent as JSON."""
    if not isinstance(body, bytes):
        body, headers = json.dumps(body).encode(), ("Content-Type: application/json", *headers)
    lines = [f"HTTP/1.1 {status} Said", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


# ---- The daemon ----


class Redis(stage.Redis):
    """A Redis that can be stopped and killed; its append-only file survives."""

    def __init__(self):
        super().__init__("--appendonly", "yes", "--appendfsync", "always")


class Daemon(stage.Daemon):
    """The daemon with these targets. `targets` maps a queue to an App, to a URL or to the members
    of a target. Without `redis` the daemon has its own Redis.
    """

    def __init__(self, targets, *options, redis=None, environment=None, before=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="patternd-push-"))
        self.write(targets)
        super().__init__(
            PROGRAM,
            "--push",
            str(self.folder / "push.json"),
            *options,
            folder=self.folder / "own",
            redis=redis and redis.url,
            environment=environment,
        )
        self.command = [*before, *self.command]
        self.is_killed = False

    def write(self, targets):
        path = self.folder / "push.json"
        text = targets if isinstance(targets, str) else json.dumps({q: target(t) for q, t in targets.items()})
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)

    def __exit__(self, *error):
        try:
            if self.is_killed:
                self.reader.join(10)
                self.log.close()
            else:
                super().__exit__()
        finally:
            if error[0]:
                print("---- the daemon's log:", (self.folder / "own/daemon.log").read_text()[-6000:], sep="\n")
            shutil.rmtree(self.folder)

    def kill(self):
        self.process.kill()
        self.process.wait(10)
        self.is_killed = True

    def reload(self, targets):
        before = len(self.events("push_read", "push_kept"))
        self.write(targets)
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(self.events("push_read", "push_kept")) > before)
        return self.events("push_read", "push_kept")[-1]

    def events(self, *names):
        lines = (self.folder / "own/daemon.log").read_text().splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [t for t in told if t.get("event") in names]

    def send(self, queue, *bodies, **options):
        """Sends these messages, and returns their ids."""
        ids = []
        for first in range(0, len(bodies), 100):
            messages = [{"body": body, **options} for body in bodies[first : first + 100]]
            status, _, told = self.ask("POST", f"/queues/{quoted(queue)}/messages", {"messages": messages})
            assert status == 201, told
            ids += [message["id"] for message in told["messages"]]
        return ids

    def send_text(self, queue, text):
        """Sends `text` as the body of the request, and returns the status."""
        headers = {"Content-Type": "application/json"}
        return self.ask("POST", f"/queues/{quoted(queue)}/messages", text.encode(), headers)[0]

    def put(self, queue, **settings):
        status, _, told = self.ask("PUT", f"/queues/{quoted(queue)}", settings)
        assert status in (200, 201), told

    def message(self, queue, message_id):
        """The message, or None if it is gone, which means that it was acknowledged."""
        status, _, told = self.ask("GET", f"/queues/{quoted(queue)}/messages/{message_id}")
        assert status in (200, 404), told
        return told if status == 200 else None

    def wait_for_state(self, queue, message_id, state, seconds=10):
        """Waits until the message is in this state, and returns it."""
        return wait_for(
            lambda: (m := self.message(queue, message_id)) and m["state"] == state and m,
            seconds,
            lambda: (self.message(queue, message_id), self.target(queue)),
        )

    def counts(self, queue):
        status, _, told = self.ask("GET", f"/queues/{quoted(queue)}")
        states = ("ready", "blocked", "delayed", "in_flight", "dead")
        if status >= 500:
            return {"unknown": status}
        return {state: told.get(state, 0) for state in states} if status == 200 else dict.fromkeys(states, 0)

    def is_empty(self, queue):
        return not any(self.counts(queue).values())

    def targets(self):
        items, cursor = [], ""
        while cursor is not None:
            status, _, told = self.ask("GET", "/push?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            assert status == 200, told
            items, cursor = items + told["items"], told["next_cursor"]
        return items

    def target(self, queue):
        return next((t for t in self.targets() if t["name"] == queue), None)

    def metric(self, name):
        found = re.search(rf"^{name} (\S+)$", self.ask("GET", "/metrics")[2], re.M)
        return float(found[1])


def target(of):
    if isinstance(of, App):
        of = {"url": of.url}
    return {"url": of} if isinstance(of, str) else of


def quoted(name):
    return "".join(c if c.isalnum() and c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in name)


def check_config(text, *options):
    """Exit status and stderr of --check-config with this file of targets."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
        file.flush()
        done = subprocess.run(
            [PROGRAM, "--check-config", "--push", file.name, *options], capture_output=True, text=True, timeout=20
        )
        return done.returncode, done.stderr.replace(file.name, "FILE")


PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None


def run(name):
    """Runs a test; returns whether it passed, and what it printed."""
    printed, began = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            vars(sys.modules["__main__"])[name]()
            has_passed = True
        except Exception:
            traceback.print_exc()
            has_passed = False
    how = "passed" if has_passed else "FAILED"
    return has_passed, f"{name}: {how} in {time.monotonic() - began:.1f} s\n{printed.getvalue()}"


def main(at_once=1):
    """Runs `at_once` tests at the same time, each in a process, since tests mostly wait."""
    names = [name for name in vars(sys.modules["__main__"]) if name.startswith("test_")]
    names = [name for name in names if not sys.argv[2:] or name in sys.argv[2:]]
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(at_once) as pool:
        for done in [pool.submit(run, name) for name in names]:
            has_passed, printed = done.result()
            failed += not has_passed
            print(printed, end="", flush=True)
    sys.exit(1 if failed or not names else 0)
