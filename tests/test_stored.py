#!/usr/bin/env python3
"""What the daemon stores is what tests/stored/ has, and this version reads each record there.
tests/test_stored.py PATTERND CLOCK FIXED_RANDOM [--record] [SCENE...]

A scene of tests/stored_scenes.py runs with a clock of Redis that stays (CLOCK) and the same random
numbers (FIXED_RANDOM), so it stores the same bytes in each run. A record has these keys, in a form
that does not depend on Redis's version, and the answers of the scene's reads. For the reads only
the record's keys are in Redis. An answer may have more members than the record.

tests/stored/NAME.json is what this version writes. Any other file there was written by a release,
and is only read.
"""
import contextlib
import difflib
import json
import os
import pathlib
import re
import struct
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from stage import Daemon, Redis
import packed
import stored_scenes
from test_redis_replies import connect

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / "tests" / "stored"
BEGIN_US = 1796083200000000  # 2026-12-01
CHANGED = """
tests/stored/{name}.json: the daemon stores something else than before. A daemon of another version
reads it, and this version reads what they stored:
- No release has stored the old form: record the new one, and state why in the commit.
- A release has, and its daemons work with the new form, such as a new field without which both
  versions do: keep the record as tests/stored/{name}-<release>.json, then record the new form.
- They would misread a queue: raise LAYOUT in lua/queues/lib_queue.lua, and see
  docs/adr/0031-stored-data.md for the steps. They would misread another kind: give the new form
  another key. Then keep the old record, and record.
To record: tests/test_stored.py PATTERND CLOCK FIXED_RANDOM --record {name}"""


def text(data):
    return data.decode("utf-8", "surrogateescape")


def raw(data):
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def shown(key, data):
    """A value as text; with its members where a script packed them, in whichever order."""
    begin = re.search(rb"[\x80-\x9f\xdc-\xdf]", data)
    if not begin or key.split(b":")[1] not in (b"queue", b"idem") or is_text(data):
        return text(data)
    return {"before": text(data[: begin.start()]), "packed": packed.unpack(data[begin.start() :])}


def hidden(value):
    """The bytes of what `shown` returned."""
    return raw(value["before"]) + b"".join(map(packed.pack, value["packed"])) if isinstance(value, dict) else raw(value)


def is_text(data):
    with contextlib.suppress(UnicodeDecodeError):
        return bool(data.decode()) or True
    return False


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def rounded(field, value):
    """Until when daemons wait for the end of a message depends on the daemon's clock, so these
    instants are rounded up to minutes.
    """
    if not re.fullmatch(r"awaited|\d{16}w", field) or not isinstance(value, str):
        return value
    return re.sub(r"(\w{16})(\d{13})", lambda found: f"{found[1]}{-(-int(found[2]) // 60000) * 60000}", value)


def write_zones(folder):
    """A database of time zones with one zone, whose version and rules never change."""
    path = folder / "America/New_York"
    path.parent.mkdir(parents=True)
    block = b"TZif2" + bytes(15) + struct.pack(">6I", 0, 0, 0, 0, 1, 4) + struct.pack(">iBB", -18000, 0, 0) + b"EST\0"
    path.write_bytes(block + block + b"\nEST5EDT,M3.2.0,M11.1.0\n")
    (folder / "tzdata.zi").write_text("# version 2026a\n")


class Stage:
    """A Redis whose clock moves only by `later`, and daemons one after the other."""

    def __init__(self, program, clock, fixed_random):
        self.program, self.fixed_random = program, os.path.abspath(fixed_random)
        self.folder = tempfile.TemporaryDirectory()
        self.clock = pathlib.Path(self.folder.name, "clock")
        self.clock.write_bytes(struct.pack("q", BEGIN_US))
        self.zones = pathlib.Path(self.folder.name, "zoneinfo")
        write_zones(self.zones)
        preloaded = {"LD_PRELOAD": os.path.abspath(clock), "CLOCK_FILE": str(self.clock)}
        self.server = Redis(environment=preloaded).__enter__()
        self.redis = connect(str(self.server.path))

    def close(self):
        self.server.__exit__()
        self.folder.cleanup()

    @staticmethod
    def wait_for(condition):
        late = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < late, "waited in vain"
            time.sleep(0.002)

    def now_us(self):
        return struct.unpack("q", self.clock.read_bytes())[0]

    def set_clock(self, us):
        with self.clock.open("r+b") as file:  # the mapped file itself
            file.write(struct.pack("q", us))

    @contextlib.contextmanager
    def daemon(self, at_us):
        self.redis.ask("FLUSHALL")
        self.set_clock(at_us)
        preloaded = {"LD_PRELOAD": self.fixed_random, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        options = ["--drain-ms", "0", "--zoneinfo", str(self.zones)]
        with Daemon(self.program, *options, redis=self.server.url, environment=preloaded) as d:
            yield d

    def data(self):
        """All keys that the daemon wrote, with their values."""
        return {text(key): self.value(key) for key in sorted(self.redis.ask("KEYS", "p:*"))}

    def value(self, key):
        kind, expires_at = self.redis.ask_all([["TYPE", key], ["PEXPIRETIME", key]])
        one = {"type": text(kind)} | ({"expires_at_ms": expires_at} if expires_at >= 0 else {})
        if key.endswith(b":workers"):  # when a worker is noted again depends on the speed of the machine
            noted = {text(f): text(v[:13] + v[:13]) for f, v in sorted(pairs(self.redis.ask("HGETALL", key)))}
            return {"type": "hash", "value": noted}
        if kind == b"string":
            value = shown(key, self.redis.ask("GET", key))
        elif kind == b"hash":
            fields = sorted(pairs(self.redis.ask("HGETALL", key)))
            value = {text(f): rounded(text(f), shown(key, v)) for f, v in fields}
        elif kind == b"zset":
            value = {text(m): text(s) for m, s in pairs(self.redis.ask("ZRANGE", key, "0", "-1", "WITHSCORES"))}
        elif kind == b"set":
            value = sorted(map(text, self.redis.ask("SMEMBERS", key)))
        else:
            entries = self.redis.ask("XRANGE", key, "-", "+")
            value = {text(id): {text(f): text(v) for f, v in pairs(fields)} for id, fields in entries}
        return one | {"value": value}

    def store(self, keys):
        for key, one in keys.items():
            value, key = one["value"], raw(key)
            if one["type"] == "string":
                self.redis.ask("SET", key, hidden(value))
            elif one["type"] == "hash":
                self.redis.ask("HSET", key, *[part for f, v in value.items() for part in (raw(f), hidden(v))])
            elif one["type"] == "zset":
                self.redis.ask("ZADD", key, *[raw(part) for m, s in value.items() for part in (s, m)])
            elif one["type"] == "set":
                self.redis.ask("SADD", key, *map(raw, value))
            else:
                for id, fields in value.items():
                    self.redis.ask("XADD", key, id, *[raw(part) for item in fields.items() for part in item])
            if "expires_at_ms" in one:
                self.redis.ask("PEXPIREAT", key, str(one["expires_at_ms"]))


# ---- Requests


def note(answer, kept):
    """Notes each text of an answer by the name of its member."""
    for name, value in answer.items() if isinstance(answer, dict) else enumerate(answer):
        if isinstance(value, (dict, list)):
            note(value, kept)
        elif isinstance(value, str):
            kept[name] = value


def filled(value, kept):
    if isinstance(value, dict):
        return {name: filled(one, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, kept) for one in value]
    return re.sub(r"\$(\w+)", lambda found: kept[found[1]], value) if isinstance(value, str) else value


def run(stage, daemon, step, kept):
    """Runs a step. Returns the status and the answer, or None if it is not a request or waits."""
    if isinstance(step, str):
        stage.set_clock(stage.now_us() + 1000 * int(step.split()[1]))
        return None
    line, body, *headers = filled(list(step), kept)
    method, path, *waits = line.split()
    if waits:
        before = stage.data()
        threading.Thread(target=wait_in_vain, args=(daemon, method, path, body), daemon=True).start()
        stage.wait_for(lambda: stage.data() != before)
        return None
    status, _, answer = daemon.ask(method, path, body, *headers)
    if isinstance(answer, dict):
        answer.pop("request_id", None)
        note(answer, kept)
    return status, answer


def wait_in_vain(daemon, method, path, body):
    with contextlib.suppress(OSError, ValueError):
        daemon.ask(method, path, body)


def write(stage, scene):
    """A record without its reads: what a scene stores."""
    kept = {}
    with stage.daemon(BEGIN_US) as daemon:
        for step in scene["writes"]:
            answer = run(stage, daemon, step, kept)
            assert not answer or answer[0] < 300, f"{step}: {answer}"
        keys = stage.data()
    used = set(re.findall(r"\$(\w+)", json.dumps(scene["reads"])))
    return {"at_us": stage.now_us(), "kept": {name: kept[name] for name in sorted(used & set(kept))}, "keys": keys}


def read(stage, record, steps):
    """The reads of a record, with the answers of this version."""
    kept, reads = dict(record["kept"]), []
    with stage.daemon(record["at_us"]) as daemon:
        stage.store(record["keys"])
        for step in steps:
            answer = run(stage, daemon, step, kept)
            reads.append({"step": step} | ({"status": answer[0], "answer": answer[1]} if answer else {}))
    return reads


def lacks(was, now, at=""):
    """Where an answer is not as it was recorded; it may have more members."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name, value in was.items():
            yield from lacks(value, now.get(name, "nothing"), f"{at}/{name}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, (one, other) in enumerate(zip(was, now)):
            yield from lacks(one, other, f"{at}/{i}")
    elif was != now:
        yield f"{at} was {json.dumps(was)} and is {json.dumps(now)}"


# ---- Verdicts


def lines(record):
    """A record as text, with a line for each read."""
    head = {name: value for name, value in record.items() if name != "reads"}
    head = json.dumps(head, indent=1, sort_keys=True)
    reads = ",\n  ".join(map(json.dumps, record.get("reads", [])))
    return (head[:-2] + (f',\n "reads": [\n  {reads}\n ]' if reads else "") + "\n}\n").splitlines(True)


def check_written(stage, name, scene, is_recorded):
    path, now = RECORDS / f"{name}.json", write(stage, scene)
    steps = json.loads(json.dumps(scene["reads"]))  # with lists where JSON has no tuples
    if is_recorded:
        path.write_text("".join(lines(now | {"reads": read(stage, now, steps)})))
        return []
    was = json.loads(path.read_text()) if path.exists() else {"reads": []}
    reads = was.pop("reads")
    flaws = list(difflib.unified_diff(lines(was), lines(now), f"tests/stored/{name}.json", "now", n=2))
    if [one["step"] for one in reads] != steps:
        flaws.append(f"tests/stored/{name}.json has other reads than tests/stored_scenes.py\n")
    return flaws + [CHANGED.format(name=name)] if flaws else []


def check_read(stage, path):
    """Whether this version reads a record."""
    record = json.loads(path.read_text())
    for was, now in zip(record["reads"], read(stage, record, [one["step"] for one in record["reads"]])):
        if was.get("status") != now.get("status"):
            yield f"{path.name}: {was['step']}: was {was['status']} and is {now['status']}: {json.dumps(now['answer'])}"
            continue
        for flaw in lacks(was, now):
            yield f"{path.name}: {was['step']}: {flaw}"


def check_documented():
    """Each key of the records is in docs/redis-keys.md, and each key there is in a record, except
    for the keys that live no longer than a request.
    """
    documented, found = {}, set()
    for key in re.findall(r"`(p:\w+:\{[^`]*|\.\.\.:[^`]*)`", (ROOT / "docs/redis-keys.md").read_text()):
        head, _, part = key.rpartition("}") if key[0] == "p" else (head, "", key[3:])
        kind = head.split(":")[1]
        if kind != "topic" and "<random>" not in part:
            form = re.sub(r"<\w+>|YYYY-MM-DD", "[^:]+", re.sub(r":\d$", r":\\d+", part))
            documented[head + "}" + part] = re.compile(rf"p:{kind}:\{{.*\}}{form if kind != 'names' else '.*'}")
    for path in RECORDS.glob("*.json"):
        for key in json.loads(path.read_text())["keys"]:
            named = {name for name, form in documented.items() if form.fullmatch(key)}
            found |= named
            if not named:
                yield f"{path.name}: docs/redis-keys.md does not name {key}"
    for name in sorted(set(documented) - found):
        yield f"no scene of tests/stored_scenes.py stores {name}"


def main(program, clock, fixed_random, *options):
    chosen = {name for name in options if name != "--record"}
    stage, flaws = Stage(program, clock, fixed_random), []
    try:
        for name, scene in stored_scenes.SCENES.items():
            if not chosen or name in chosen:
                flaws += check_written(stage, name, scene, "--record" in options)
        for path in sorted(RECORDS.glob("*.json")):
            if not chosen or path.stem in chosen:
                flaws += check_read(stage, path)
        if not chosen:
            flaws += check_documented()
    finally:
        stage.close()
    for flaw in flaws:
        print(flaw.rstrip("\n"))
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
