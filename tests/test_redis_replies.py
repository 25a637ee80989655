#!/usr/bin/env python3
"""Whatever Redis stores and replies, no answer reveals a bug in a script, and each answer of 2xx is
as the contract documents it. tests/test_redis_replies.py PATTERND OPENAPI.JSON keys|replies

The tours of bench/tours.py run with a proxy before Redis. `keys`: before each script of a tour the
proxy runs the script with damaged keys: each key and each pair of keys deleted or replaced by
another type, and all keys deleted. The reply must have the documented form, or be a documented
error that left all keys unchanged. A queue of another layout must be refused by such an error.
`replies`: each request is sent again for each element of each of its replies, with that element
replaced by another type. Its keys are restored in between. Each pair of keys is damaged in one way
in turn, and each element gets one other type in turn. With PATTERND_FULL all ways and types are
tried.
"""
import concurrent.futures
import contextlib
import http.client
import importlib.machinery
import importlib.util
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import tours
import validate_exchanges
from stage import Daemon, Redis, connection_to

loader = importlib.machinery.SourceFileLoader("instructions", str(ROOT / "bench" / "instructions"))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", loader))
loader.exec_module(instructions)

FULL = os.environ.get("PATTERND_FULL")  # with every way to damage a pair, and every other type of an element
# First words of errors that mean something to the daemon (service/call/call_problem.c).
AGREED_ERRORS = {"WRONGTYPE", "IDEMPOTENCY_KEY_REUSED"}
QUEUE, OTHER_LAYOUT = re.compile(rb"p:queue:\{[^}]*\}"), "a queue of another layout"
OTHER_TYPES = {
    "string": ("SET", "foreign"),
    "hash": ("HSET", "field", "foreign"),
    "list": ("RPUSH", "foreign"),
    "set": ("SADD", "foreign"),
    "zset": ("ZADD", "1", "foreign"),
    "stream": ("XADD", "1-1", "field", "foreign"),
}
# Further requests, for scripts that no tour runs.
MORE_TOURS = {
    "shared": [
        ("lock_acquire", {"mode": "shared"}),
        ("lock_acquire", {"mode": "shared"}),
        ("lock_acquire", {"mode": "shared", "Lock-Token": "$token"}),
        "lock_get",
        "lock_list",
        ("lock_extend", {"Lock-Token": "$token"}),
        ("lock_release", {"Lock-Token": "$token"}),
    ],
    "duplicates": [
        "queue_message_send",
        ("queue_message_send", {"on_duplicate": "extend"}),
        ("queue_message_send", {"on_duplicate": "replace", "delay_ms": 0}),
        "queue_message_receive",
        ("queue_message_send", {"on_duplicate": "after"}),
        ("queue_delivery_acknowledge", {"receipt": "$receipt"}),
        ("queue_message_send", {"on_duplicate": "replace", "delay_ms": 0}),
        "queue_message_receive",
        ("queue_message_delete", {"in_flight": "true"}),
    ],
    "dead letters that move": [
        ("queue_message_send", {"delay_ms": 0}),
        "queue_message_receive",
        ("queue_delivery_reject", {"receipt": "$receipt", "delay_ms": None, "dead": True}),
        ("queue_redrive", {"limit": 1000, "ids": None, "to": "elsewhere"}),
    ],
}


class Error(str):
    """A Redis error that is an element of a reply."""


def encode(reply):
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, Error):
        return b"-%s\r\n" % reply.encode()
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, list):
        return b"*%d\r\n" % len(reply) + b"".join(map(encode, reply))
    return b"$%d\r\n%s\r\n" % (len(reply), reply)


class Wire:
    """One end of a connection that speaks RESP."""

    def __init__(self, sock):
        self.socket, self.file, self.asks = sock, sock.makefile("rb"), threading.Lock()

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, value = line[:1], line[1:-2]
        if kind == b"-":
            return Error(value.decode(errors="replace"))
        if kind == b"+":
            return value
        if kind == b":":
            return int(value)
        if int(value) < 0:
            return None
        return [self.read() for _ in range(int(value))] if kind == b"*" else self.file.read(int(value) + 2)[:-2]

    def read_all(self):
        """The bytes that have come so far, at least one."""
        found = [self.read()]
        while self.has_more():
            found.append(self.read())
        return found

    def has_more(self):
        self.socket.setblocking(False)
        try:
            return bool(self.file.peek(1))
        finally:
            self.socket.setblocking(True)

    def ask_all(self, commands):
        sent = b"".join(encode([w.encode() if isinstance(w, str) else w for w in c]) for c in commands)
        with self.asks:  # the daemon may call while a test looks
            self.socket.sendall(sent)
            return [self.read() for _ in commands]

    def ask(self, *command):
        return self.ask_all([command])[0]


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return Wire(sock)


class Proxy:
    """A proxy before Redis; `run(command, keys)` returns the reply to a script or command of a
    request.
    """

    def __init__(self, redis_path, folder):
        self.redis_path, self.path = redis_path, f"{folder}/proxy"
        self.redis, self.lock = connect(self.redis_path), threading.Lock()
        self.run = lambda command: self.redis.ask(*command)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen()
        threading.Thread(target=self.accept, args=[listener], daemon=True).start()

    def accept(self, listener):
        while True:
            threading.Thread(target=self.serve, args=[listener.accept()[0]], daemon=True).start()

    def serve(self, sock):
        client, upstream = Wire(sock), connect(self.redis_path)
        try:
            while True:
                # A handshake may send a hundred commands at once.
                for runs, commands in itertools.groupby(client.read_all(), self.is_of_request):
                    commands = list(commands)
                    if any(command[0].upper() in (b"SSUBSCRIBE", b"SUBSCRIBE") for command in commands):
                        self.pass_on(client, upstream, commands)
                        return
                    if runs:
                        with self.lock:
                            replies = [self.run(command) for command in commands]
                    else:
                        replies = upstream.ask_all(commands)
                    sock.sendall(b"".join(map(encode, replies)))
        except (EOFError, OSError):
            pass
        finally:
            sock.close()

    @staticmethod
    def is_of_request(command):
        return command[0].upper() in (b"EVALSHA", b"EVAL", b"SCAN", b"TYPE", b"MEMORY", b"XLEN")

    @staticmethod
    def pass_on(client, upstream, commands):
        def back():
            with contextlib.suppress(OSError):
                while more := upstream.file.read1(65536):
                    client.socket.sendall(more)

        threading.Thread(target=back, daemon=True).start()
        while True:
            upstream.socket.sendall(b"".join(map(encode, commands)))
            commands = client.read_all()


def keys_of(command):
    return command[3 : 3 + int(command[2])] if command[0].upper() in (b"EVALSHA", b"EVAL") else []


def put_back(redis, keys):
    """Commands that restore keys to their present state."""
    commands = [["DEL", *keys]] if keys else []
    for key in dict.fromkeys(keys):
        dump, at = redis.ask_all([["DUMP", key], ["PEXPIRETIME", key]])
        if dump is not None:
            commands.append(["RESTORE", key, str(max(at, 0)), dump, "ABSTTL"])
    return commands


OPERATIONS = {path.stem for path in (ROOT / "lua").glob("*/**/*.lua") if "--@reply" in path.read_text()}


def operation_of(command):
    """The operation of a script that a command runs, or None: its last argument begins with it."""
    return command[-1].split(b" ")[0].decode() if command[0].upper() == b"EVALSHA" else None


class Stage:
    def __init__(self, program, contract_path):
        self.folder = tempfile.TemporaryDirectory()
        self.contract = instructions.Contract()
        self.checker = validate_exchanges.Contract(contract_path)
        self.flaws, self.asked = [], 0
        with contextlib.ExitStack() as running:
            redis = running.enter_context(Redis("--enable-debug-command", "local"))
            self.proxy = Proxy(str(redis.path), self.folder.name)
            for source in (pathlib.Path(contract_path).parent / "lua").glob("*.lua"):
                self.proxy.redis.ask("SCRIPT", "LOAD", source.read_bytes())
            # The proxy runs a script in a hundred ways before it answers, which may take seconds.
            patience = ("--redis-timeout-ms", "30000")
            daemon = running.enter_context(Daemon(program, *patience, redis=f"unix://{self.proxy.path}"))
            self.http = connection_to(daemon.port)
            self.stop = running.pop_all().close

    def ask(self, request):
        """Status and body; refusals while the daemon reconnects are retried."""
        late = time.monotonic() + 10
        while True:
            self.http.sendall(request)
            answer = http.client.HTTPResponse(self.http, method=request.split(b" ", 1)[0].decode())
            answer.begin()
            body = answer.read()
            if answer.status != 503 or b"redis_unavailable" not in body or time.monotonic() > late:
                return answer, body
            time.sleep(0.001)

    def walk(self, tour, visit):
        kept = {}
        self.proxy.redis.ask("FLUSHALL")
        for step in tour:
            operation, values = (step, {}) if isinstance(step, str) else step
            try:
                values = {name: instructions.fill_in(value, kept) for name, value in values.items()}
            except KeyError as missing:
                self.flaw(f"{operation}: no answer before it had {missing}")
                return
            body = visit(operation, self.contract.request(operation, values))
            if body.startswith(b"{"):
                instructions.keep(json.loads(body), kept)

    def flaw(self, text):
        self.flaws.append(text)
        print(text, flush=True)


# ---- Missing and foreign keys


class Keys:
    """Runs each script with damaged keys first, then with the real ones."""

    def __init__(self, stage):
        self.stage, self.redis, self.seen, self.scripts = stage, stage.proxy.redis, set(), set()
        self.turn = itertools.count()
        stage.proxy.run = self.run

    def visit(self, operation, request):
        del operation
        answer, body = self.stage.ask(request)
        if answer.status >= 300:
            self.stage.flaw(f"{request.split()[:2]}: {answer.status} {body}")
        return body

    def run(self, command):
        name = operation_of(command)
        if name:
            self.scripts.add(name)
            keys = keys_of(command)
            state = (name, len(command), tuple(self.redis.ask_all([["TYPE", key] for key in keys])))
            if state not in self.seen:
                self.seen.add(state)
                self.harm(name, command, keys)
        return self.redis.ask(*command)

    def harms(self, keys):
        """Ways to damage keys: (description, commands)."""
        ways = {"gone": lambda key: ["DEL", key]}
        for kind, (verb, *rest) in OTHER_TYPES.items():
            ways[f"a {kind}"] = lambda key, verb=verb, rest=rest: [verb, key, *rest]
        numbered = list(enumerate(keys, 1))
        for (i, key), (what, harm) in itertools.product(numbered, ways.items()):
            yield f"key {i} {what}", [["DEL", key], harm(key)]
        few = ("gone", "a string", "a hash", "a zset") if len(keys) < 7 else ("gone",)
        both = list(itertools.product(few, few))
        for (i, a), (j, b) in itertools.combinations(numbered, 2):
            for one, other in both if FULL else [both[next(self.turn) % len(both)]]:
                yield f"key {i} {one}, key {j} {other}", [["DEL", a, b], ways[one](a), ways[other](b)]
        if keys:
            yield "all keys gone", [["DEL", *keys]]
        for key in filter(QUEUE.fullmatch, keys):
            yield OTHER_LAYOUT, [["HSET", key, "layout", "9"]]

    def harm(self, name, command, keys):
        back = put_back(self.redis, keys)
        picture = [["DEBUG", "DIGEST-VALUE", *keys], *(["PEXPIRETIME", key] for key in keys)]
        for what, commands in self.harms(keys):
            replies = self.redis.ask_all([*commands, *picture, command, *picture, *back])[len(commands) :]
            before, reply, after = replies[: len(picture)], replies[len(picture)], replies[len(picture) + 1 :]
            self.stage.asked += 1
            if isinstance(reply, Error):
                agreed = reply.split(" ", 1)[0] in AGREED_ERRORS and after[: len(picture)] == before
            elif what == OTHER_LAYOUT:
                agreed = False
            else:
                agreed = (
                    isinstance(reply, list)
                    and len(reply) > 1
                    and all(isinstance(item, int) for item in reply[:2])
                    and None not in reply
                )
            if not agreed:
                self.stage.flaw(f"{name}, {what}: {reply!r:.300}")


# ---- Replies of another form than documented


def places(reply, path=()):
    """The paths of a reply and of its elements; long arrays have only their first and last
    elements.
    """
    yield path
    if isinstance(reply, list):
        for i in [i for i in range(len(reply)) if i < 14 or i + 3 > len(reply)]:
            yield from places(reply[i], (*path, i))


def replaced(reply, path, value):
    if not path:
        return value
    return [replaced(item, path[1:], value) if i == path[0] else item for i, item in enumerate(reply)]


class Replies:
    OTHERS = {"nil": None, "an integer": 7, "a string": b"x", "an array": [], "an error": Error("ERR nested")}

    def __init__(self, stage):
        self.stage, self.redis = stage, stage.proxy.redis
        self.plan, self.calls, self.back, self.turn, self.seen = None, [], {}, 0, set()
        stage.proxy.run = self.run

    def run(self, command):
        for key in keys_of(command):
            if key not in self.back:
                self.back[key] = put_back(self.redis, [key])
        reply = self.redis.ask(*command)
        if isinstance(reply, Error):
            return reply
        self.calls.append(reply)
        if self.plan and self.plan[0] == len(self.calls) - 1:
            return replaced(reply, *self.plan[1:])
        return reply

    def once(self, request, plan=None):
        """The answer, and the replies on the way to it; Redis is as before. Between two steps of a
        tour `back` stays good.
        """
        self.plan, self.calls = plan, []
        answer, body = self.stage.ask(request)
        calls = self.calls
        with self.stage.proxy.lock:
            commands = list(itertools.chain(*self.back.values()))
            if commands:
                self.redis.ask_all(commands)
        return answer, body, calls

    def visit(self, operation, request):
        self.back = {}
        answer, body, calls = self.once(request)
        if answer.status >= 300:
            self.stage.flaw(f"{operation}: {answer.status} {body}")
        for number, reply in enumerate([] if operation in self.seen else calls):
            for path in places(reply):
                now = reply
                for i in path:
                    now = now[i]
                others = [(what, value) for what, value in self.OTHERS.items() if type(value) is not type(now)]
                self.turn += 1
                for what, value in others if FULL else [others[self.turn % len(others)]]:
                    self.try_with(operation, request, number, path, what, value)
        self.seen.add(operation)
        self.plan = None
        return self.stage.ask(request)[1]

    def try_with(self, operation, request, number, path, what, value):
        answer, body, _ = self.once(request, (number, path, value))
        self.stage.asked += 1
        method, target = request.decode().split(" ", 2)[:2]
        why = self.stage.checker.check(
            {
                "operation": operation,
                "method": method,
                "target": target,
                "status": answer.status,
                "body": body.decode(),
                "content_type": answer.headers.get("Content-Type"),
                "headers": {k.lower(): v for k, v in answer.headers.items()},
            }
        )
        writes = self.stage.checker.operations[operation]["x-effect"] == "writes"
        if not why and b'"internal_error"' in body and json.loads(body)["effect"] != ("unknown" if writes else "none"):
            why = "its effect is not told"
        if why:
            self.stage.flaw(f"{operation}, call {number}, {path} {what}: {answer.status} {why} {body[:200]}")


def walk_some(program, contract_path, what, some):
    """The findings of these tours, how many ways were tried, and the scripts that did not run."""
    stage = Stage(program, contract_path)
    try:
        sweep = {"keys": Keys, "replies": Replies}[what](stage)
        for tour in some:
            stage.walk(tour, sweep.visit)
        return stage.flaws, stage.asked, OPERATIONS - getattr(sweep, "scripts", set())
    finally:
        stage.stop()


def main(program, contract_path, what):
    """Runs three stages at once, each in a process, because a daemon mostly waits before it
    connects again.
    """
    all_tours = [tour for name, tour in {**tours.TOURS, **MORE_TOURS}.items() if name != "daemon"]
    with concurrent.futures.ProcessPoolExecutor(3) as pool:
        walks = [pool.submit(walk_some, program, contract_path, what, all_tours[i::3]) for i in range(3)]
    flaws_of_each, asked_of_each, not_run = zip(*(walk.result() for walk in walks))
    if what == "keys":
        print("not run:", *sorted(set.intersection(*not_run)))
    flaws, asked = list(itertools.chain(*flaws_of_each)), sum(asked_of_each)
    print(*flaws[:60], f"{asked} tried, {len(flaws)} flaws", sep="\n")
    return 1 if flaws else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the started programs
    sys.exit(main(*sys.argv[1:]))
