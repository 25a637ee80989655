#!/usr/bin/env python3
"""A plain block of a script decides as its operation does (tools/embed_scripts.py). Each script of
random requests runs twice, from the same keys and at the same instant: without plain blocks, and
as it is. Replies and keys must be equal, and each plain block must have answered some calls and
left others. The turn of a worker must do what its two steps do as two calls. Each line of a script
is from the place that the log would name.
tests/test_plain_blocks.py PATTERND OPENAPI.JSON [STEPS [SEED]]
"""
import collections
import contextlib
import json
import math
import pathlib
import random
import re
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import embed_scripts
from test_redis_replies import Error, Stage, keys_of, operation_of, put_back

MISSED = "redis.call('INCR', 'missed')\n"
NO_OPTIONS = b"\t0\t0\t\t\t\t\t\t\t"  # the state of a delivery may leave it out
# Redis sets some expiries by its own clock, which advances between the two runs.
EXPIRY_MS = 2000


def scripts(has_plain):
    """{operation: text}, with a clock that the test sets."""
    lua, found = ROOT / "lua", {}
    operations = embed_scripts.operations_of(lua)
    for o in operations:
        o.plain = o.plain if has_plain else ""
    for text, _, members in embed_scripts.scripts_of(operations, lua).values():
        text = text.replace("call('TIME')", "redis.call('LRANGE', 'clock', '0', '-1')", 1)
        text = text.replace("no-writes", "", 1)  # it counts what its plain blocks leave
        text = text.replace("\nif not reply then\n", "\nif not reply then\n" + MISSED, 1)
        found |= {o.name: text for o in members}
    return found, {o.name for o in operations if o.plain}


def misplaced():
    """The lines of scripts that are not from the place that the log would name."""
    lua, texts = ROOT / "lua", lambda line: set(re.findall(r"'[^']*'", line))
    for name, (text, origins, _) in embed_scripts.scripts_of(embed_scripts.operations_of(lua), lua).items():
        files = [path.read_text().splitlines() for path in embed_scripts.FILES]
        for number, (line, origin) in enumerate(zip(text.splitlines(), origins, strict=True), 1):
            if origin and not texts(files[origin[0]][origin[1] - 1].partition(" --")[0]) <= texts(line):
                yield f"{name}:{number} is not from {list(embed_scripts.FILES)[origin[0]]}:{origin[1]}"


class Both:
    """Runs each script without plain blocks, restores its keys, and runs it as it is."""

    def __init__(self, stage, texts, bare):
        self.stage, self.redis = stage, stage.proxy.redis
        self.calls, self.answered, self.compared = collections.Counter(), collections.Counter(), 0
        load = lambda text: self.redis.ask("SCRIPT", "LOAD", text)
        self.shas = {name: (load(bare[name]), load(text)) for name, text in texts.items()}
        stage.proxy.run = self.run

    def picture(self, keys):
        """{key: (its value, its expiry)} of the keys that exist."""
        reads = {b"string": "GET", b"hash": "HGETALL", b"list": "LRANGE", b"set": "SMEMBERS", b"zset": "ZRANGE"}
        rest = {b"list": ["0", "-1"], b"zset": ["0", "-1", "WITHSCORES"]}
        kinds = zip(keys, self.redis.ask_all([["TYPE", key] for key in keys]), strict=True)
        kinds = {key: kind for key, kind in kinds if kind != b"none"}
        values = self.redis.ask_all([[reads[kind], key, *rest.get(kind, [])] for key, kind in kinds.items()])
        ends = self.redis.ask_all([["PEXPIRETIME", key] for key in kinds])
        found = {}
        for (key, kind), value, at in zip(kinds.items(), values, ends, strict=True):
            if kind == b"hash":
                value = {k: v.removesuffix(NO_OPTIONS) for k, v in zip(value[::2], value[1::2], strict=True)}
            found[key] = sorted(value) if kind == b"set" else value, at
        return found

    def run(self, command):
        name = operation_of(command)
        if not name:
            return self.redis.ask(*command)
        keys = list(dict.fromkeys(keys_of(command)))
        now_us = time.time_ns() // 1000 | 1  # an odd instant: no script looks at random names (lib/made.lua)
        self.redis.ask_all([["DEL", "clock", "missed"], ["RPUSH", "clock", *map(str, divmod(now_us, 1000000))]])
        before, back = self.picture(keys), put_back(self.redis, keys)
        runs = []
        for sha in self.shas[name]:
            if runs and back:
                self.redis.ask_all([*back, ["DEL", "missed"]])
            reply = self.redis.ask("EVALSHA", sha, *command[2:])
            runs.append((reply, self.picture(keys)))
        self.calls[name] += 1
        self.answered[name] += self.redis.ask("GET", "missed") is None
        ends = [at for picture in (before, *(p for _, p in runs)) for _, at in picture.values() if at != -1]
        if min(ends, default=math.inf) > time.time_ns() // 1000000:  # no key expired during the two runs
            self.compared += 1
            self.compare(name, command, *runs, "without its plain block")
            if name == "queue_turn" and not isinstance(runs[1][0], Error):
                self.redis.ask_all(back)
                self.compare(name, command, (self.in_two_calls(command), self.picture(keys)), runs[1], "as two calls")
                self.redis.ask_all(back)
                self.redis.ask("EVALSHA", self.shas[name][1], *command[2:])
        return runs[1][0]

    def in_two_calls(self, command):
        """Runs the steps of queue_turn one after the other. Returns its reply."""
        until, sha = 3 + int(command[2]), self.shas["queue_turn"][1]
        head, args = command[2:until], command[until:-1]
        last = 2 + int(args[1])
        ended = self.redis.ask("EVALSHA", sha, *head, *args[2:last], args[0])
        received = self.redis.ask("EVALSHA", sha, *head, *args[last:], "queue_message_receive")
        one = {1: b"1", 0: b"1", -1: b"0", -2: b"4"}
        outcomes = b"".join(b"%d" % o for o in ended[2:]) if ended[2:] else one[ended[0]]
        return [*received[:4], max(ended[0], 0), outcomes, *received[4:]]

    def compare(self, name, command, bare, plain, how):
        if isinstance(bare[0], Error) and isinstance(plain[0], Error):
            bare, plain = [(Error(r.split(" ")[0]), keys) for r, keys in (bare, plain)]
        if bare[0] != plain[0]:
            self.stage.flaw(f"{name}: {command[3:]}:\n  {bare[0]} {how}\n  {plain[0]}")
        for key in bare[1].keys() | plain[1].keys():
            value, at = bare[1].get(key, (None, -2))
            other, other_at = plain[1].get(key, (None, -2))
            if value != other or abs(at - other_at) > EXPIRY_MS:
                values = f"{value} {at} {how}\n  {other} {other_at}"
                self.stage.flaw(f"{name}: {command[3:]}: {key}:\n  {values}")


class Walk:
    def __init__(self, stage, rng):
        self.stage, self.rng, self.kept = stage, rng, collections.defaultdict(list)

    def ask(self, method, path, body=None, **headers):
        text = json.dumps(body) if body is not None else ""
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if self.rng.random() < 0.15 and method == "POST":
            lines.append(f"Idempotency-Key: {self.rng.randrange(40)}")
        if text:
            lines += ["Content-Type: application/json", f"Content-Length: {len(text)}"]
        head = "".join(line + "\r\n" for line in [f"{method} {path} HTTP/1.1", "Host: localhost", *lines])
        answer, answered = self.stage.ask(f"{head}\r\n{text}".encode())
        with contextlib.suppress(ValueError):
            return answer.status, json.loads(answered)
        return answer.status, {}

    def some(self, **options):
        """Each option with one of its values, or without any, as most calls are."""
        chosen = {name: self.rng.choice(values) for name, values in options.items() if self.rng.random() < 0.25}
        return {name: value for name, value in chosen.items() if value is not None}

    def keep(self, kind, what):
        self.kept[kind] = [*self.kept[kind][-8:], what]

    def pick(self, kind):
        """Returns one of the kept ones. Half of the calls return the last one, and forget it."""
        kept = self.kept[kind] or ["0123456789abcdef" * 2]
        return kept.pop() if self.rng.random() < 0.5 else self.rng.choice(kept)

    def step(self):
        kinds = {
            self.queue: 1, self.settings: 1, self.send: 12, self.receive: 8, self.settle: 12, self.lock: 8,
            self.permit: 5, self.count: 8, self.score: 5, self.place: 5,
        }  # fmt: skip
        self.rng.choices(list(kinds), kinds.values())[0]()

    def queue(self):
        name = self.rng.choice("qrs")
        self.rng.choice(
            [
                lambda: self.ask("GET", f"/queues/{name}"),
                lambda: self.ask("DELETE", f"/queues/{name}"),
                lambda: self.ask("POST", f"/queues/{name}/groups/g/pause", {"for_ms": 50}),
                lambda: self.ask("POST", f"/queues/{name}/groups/g/resume"),
                lambda: self.ask("POST", f"/queues/{name}/redrive", {"limit": 2}),
            ]
        )()

    def settings(self):
        options = self.some(
            visibility_ms=[100, 60000], max_receives=[1, 3], result_ms=[60000], max_messages=[3], order=["strict"],
            delay_ms=[30], ttl_ms=[60000],
            paused=[True, False], concurrency=[1, 2], dedupe_ms=[0, 1000], rate=[{"limit": 2, "window_ms": 100}],
        )  # fmt: skip
        self.ask("PUT", f"/queues/{self.rng.choice('qr')}", options)

    def send(self):
        body = {"body": self.rng.choice([1, {"a": "b"}, "x" * 80])} | self.some(
            delay_ms=[0, 1, 30, 60000], id=["1", "2", "3"], group=["g", "h"], priority=[1, 5], ttl_ms=[1, 60000],
            headers=[{"t": "1"}], wait_room_ms=[1], must_exist=[True], dedupe_id=["1", "2"],
        )  # fmt: skip
        if "id" in body and "dedupe_id" not in body:
            body |= self.some(on_duplicate=["keep", "replace", "after"])
        self.ask("POST", f"/queues/{self.rng.choice('qrss')}/messages", body)

    def receive(self):
        name = self.rng.choice("qrss")
        body = {"limit": self.rng.choice([1, 1, 4, 10])}
        body |= self.some(visibility_ms=[30, 60000], wait_ms=[1], worker=["w", "v"])
        if self.rng.random() < 0.3:
            body["settle"] = {"acknowledge": sorted({self.pick(name) for _ in range(self.rng.choice([1, 1, 3]))})}
        _, answer = self.ask("POST", f"/queues/{name}/receive", body)
        for message in answer.get("messages", []):
            self.keep(name, message["receipt"])

    def settle(self):
        name = self.rng.choice("qrss")
        if not self.kept[name]:
            self.receive()
        receipt = self.pick(name)
        both = sorted({receipt, self.pick(name)})
        path = f"/queues/{name}/deliveries/{receipt}"
        self.rng.choice(
            [
                lambda: self.ask("DELETE", path),
                lambda: self.ask("DELETE", path),
                lambda: self.ask("POST", f"{path}/extend", {"visibility_ms": 50, "progress": {"percent": 1}}),
                lambda: self.ask("POST", f"{path}/extend", {"visibility_ms": 60000}),
                lambda: self.ask("POST", f"{path}/reject", self.some(delay_ms=[0, 10], reason=["e"], dead=[True])),
                lambda: self.ask("POST", f"/queues/{name}/extend", {"receipts": both, "visibility_ms": 500}),
                lambda: self.ask("POST", f"/queues/{name}/settle", {"acknowledge": both}),
                lambda: self.ask("POST", f"/queues/{name}/settle", {"acknowledge": [receipt]}),
            ]
        )()

    def lock(self):
        name = self.rng.choice("ab")
        if self.rng.random() < 0.5:
            body = {"ttl_ms": self.rng.choice([100, 100, 60000])} | self.some(
                owner=["o"], metadata=[{"m": 1}], mode=["shared"], wait_ms=[1]
            )
            status, answer = self.ask("POST", f"/locks/{name}", body)
            if status == 201:
                self.keep(name, answer["token"])
        elif self.rng.random() < 0.2:
            self.ask("POST", f"/locks/{name}", {"ttl_ms": 200}, Lock_Token=self.pick(name))
        elif self.rng.random() < 0.2:
            self.ask("POST", f"/locks/{name}/extend", {"ttl_ms": 300}, Lock_Token=self.pick(name))
        else:
            self.ask("DELETE", f"/locks/{name}", Lock_Token=self.pick(name))

    def permit(self):
        if self.rng.random() < 0.6:
            body = {"limit": self.rng.choice([1, 3, 30]), "ttl_ms": self.rng.choice([100, 100, 60000])}
            status, answer = self.ask("POST", "/semaphores/s/permits", body | self.some(owner=["o"], wait_ms=[1]))
            if status == 201:
                self.keep("permit", answer["permit"])
        else:
            permit = self.pick("permit")
            self.ask("DELETE", f"/semaphores/s/permits/{permit}")

    def count(self):
        choice = self.rng.choice
        more = choice([1, -1, 2**53 - 2])
        limit = {"key": choice("kl"), "limit": choice([5, 5, 7]), "window_ms": choice([500, 500, 777])}
        self.rng.choice(
            [
                lambda: self.ask("POST", "/ratelimit", limit | self.some(burst=[1, 3, 9], cost=[0, 2, 9])),
                lambda: self.ask("POST", "/ratelimit", limit),
                lambda: self.ask("POST", "/uv/p", {"visitors": [choice("123456789") for _ in range(choice([1, 3]))]}),
                lambda: self.ask("POST", "/uv/p", {"visitors": ["x"], "at_ms": int(time.time() - 90000) * 1000}),
                lambda: self.ask("PATCH", "/uv/p", {"keep_total": choice([True, False])}),
                lambda: self.ask("POST", "/counters/c/increment", {"counters": {choice("ij"): more}}),
                lambda: self.ask("POST", "/counters/c/increment", {"counters": {"i": more, "m": -1}}),
                lambda: self.ask("DELETE", f"/counters/c/fields/{choice('ij')}"),
            ]
        )()

    def score(self):
        name, member = self.rng.choice("bc"), self.rng.choice("vwxyz")
        scores = {"p": self.rng.choice([0, 1, 2, 2**53 - 1])}
        path = f"/leaderboards/{name}"
        self.rng.choice(
            [
                lambda: self.ask("PUT", path, {"dimensions": ["p"]} | self.some(max_members=[2, 100], ttl_ms=[60000])),
                lambda: self.ask("DELETE", f"{path}/members/{member}"),
                lambda: self.ask("DELETE", path) if self.rng.random() < 0.2 else None,
                lambda: self.ask("PUT", f"{path}/members/{member}", {"scores": scores}),
                lambda: self.ask("PUT", f"{path}/members/{member}", {"scores": scores}),
                lambda: self.ask("POST", f"{path}/members/{member}/increment", {"scores": scores}),
                lambda: self.ask("GET", f"{path}/members?limit={self.rng.choice([1, 3, 10])}"),
                lambda: self.ask("GET", f"{path}/members?limit=2&cursor=1"),
                lambda: self.ask("GET", f"{path}/members?order=asc&min_score=1"),
            ]
        )()

    def place(self):
        name, draw = self.rng.choice("gh"), self.rng.uniform
        spot = lambda: {"longitude": draw(10, 11), "latitude": draw(50, 51)}
        shape = self.rng.choice(["radius=1", "radius=50&unit=km", "radius=30&unit=mi", "width=90&height=9&unit=km"])
        order, limit = self.rng.choice(["", "&order=desc"]), self.rng.choice([1, 3, 10, 100])
        many = lambda: [{"member": f"m{i}", **spot()} for i in range(self.rng.choice([3, 40, 300]))]
        self.rng.choice(
            [
                lambda: self.ask("PUT", f"/geo/{name}", {"cells": self.rng.choice([1, 2])}),
                lambda: self.ask("DELETE", f"/geo/{name}"),
                lambda: self.ask("POST", f"/geo/{name}/members", {"members": many()}),
                *[lambda: self.ask("GET", f"/geo/nearby?name={name}&longitude=10.5&latitude=50.5&{shape}{order}&limit={limit}")] * 4,
            ]
        )()


def main(program, contract, steps="2000", seed=None):
    seed = int(seed) if seed else time.time_ns() % 2**32
    texts, with_plain = scripts(True)
    bare, _ = scripts(False)
    stage = Stage(program, contract)
    try:
        for flaw in misplaced():
            stage.flaw(flaw)
        both, walk = Both(stage, texts, bare), Walk(stage, random.Random(seed))
        reached = lambda name: 0 < both.answered[name] < both.calls[name]
        for step in range(4 * int(steps)):
            if stage.flaws or step >= int(steps) and all(map(reached, with_plain)):
                break
            walk.step()
        for name in sorted(with_plain):
            print(f"{name:32} {both.calls[name]:5} calls, {both.answered[name]:5} by its plain block")
            if not stage.flaws and not reached(name):
                stage.flaw(f"{name}: the walk does not reach both, its plain block and its operation: add steps to Walk")
    finally:
        stage.stop()
    print(f"seed {seed}: {both.compared} calls compared")
    if stage.flaws:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
