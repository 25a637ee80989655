#!/usr/bin/env python3
"""What time has ended changes no answer: tests/test_time.py PATTERND CLOCK_AHEAD [STATE OPERATION]

Brings a queue into each of STATES, by a clock that only this test moves, and runs each of
OPERATIONS twice: as the queue is, and after a receive of nothing has settled everything that time
has changed. The answers, and what all reads then return, must be equal. KNOWN has the differences
that are allowed, each with its reason; one that is gone fails, too. With a state and an operation
the test runs only these, and prints what they answer.

Likewise what is held for a time (HOLDS) must be after its end as if its client had ended it by
hand. Then it uses a queue in each way of USES, and receives once a day for 40 days: nothing may be
left in Redis of the messages.
"""
import http.client
import json
import pathlib
import re
import struct
import sys
import tempfile

from stage import Daemon, Redis, connection_to

START_US = 1_800_000_000_000_000
PARTS = ("", ":ready", ":delayed", ":flight", ":dead", ":ids", ":done", ":schedules", ":waiters", ":order", ":busy",
         ":groups", ":room")  # fmt: skip
AT_ONCE = {"base_ms": 0, "max_ms": 0}
LONG = {"base_ms": 600000, "max_ms": 600000}


class Stage:
    """A Redis with its own clock, and a daemon. `now` moves by pass_ms only."""

    def __init__(self, program, shim, folder):
        self.clock = pathlib.Path(folder, "clock")
        self.clock.write_bytes(struct.pack("q", START_US))
        self.redis = Redis(environment={"LD_PRELOAD": shim, "CLOCK_FILE": str(self.clock)}).__enter__()
        self.to_redis = connection_to(self.redis.path)
        self.daemon = Daemon(program, redis=self.redis.url).__enter__()
        self.http = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        generated = pathlib.Path(program).parent / "generated/lua"
        self.receive = (generated / "queues_allow_oom.lua").read_text()

    def command(self, *words):
        packed = [w.encode() for w in words]
        self.to_redis.sendall(b"*%d\r\n" % len(packed) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in packed))
        answer = self.to_redis.recv(1 << 20)
        assert not answer.startswith(b"-"), answer
        return answer

    def call(self, method, path, body=None, headers=None):
        headers = ({"Content-Type": "application/json"} if body is not None else {}) | (headers or {})
        self.http.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.http.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def begin(self):
        self.command("FLUSHALL")
        self.us = START_US
        self.pass_ms(0)

    def pass_ms(self, ms):
        self.us += ms * 1000
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("q", self.us))

    def members(self, key):
        """How many members a sorted set has, or how many fields of messages a hash."""
        script = """if redis.call('TYPE', KEYS[1]).ok == 'zset' then return redis.call('ZCARD', KEYS[1]) end
            local count = 0
            for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
              count = count + (field:find('^%d+s?w?$') and 1 or field:find('^~') and 1 or 0)
            end
            return count + (KEYS[1]:find(':ids$') and redis.call('HLEN', KEYS[1]) or 0)"""
        return int(self.command("EVAL", script, "1", key)[1:])

    def settle(self):
        keys = [f"p:queue:{{q}}{part}" for part in PARTS]
        rest = ("", "", "0", "0", "queue_message_receive")
        for n in range(3):  # a bound of one kind of work may leave another for the next call
            self.command("EVAL", self.receive, str(len(keys)), *keys, "0", "-1", f"{n:016x}", *rest)

    def end(self):
        self.daemon.__exit__()
        self.redis.__exit__()


class Queue:
    """The queue `q`, for STATES and OPERATIONS. `receipts` are of what was received, by id."""

    def __init__(self, stage):
        self.stage, self.receipts = stage, {}

    def __call__(self, method, path="", body=None):
        return self.stage.call(method, "/queues/q" + path, body)

    def put(self, **settings):
        assert self("PUT", "", {"backoff": AT_ONCE} | settings)[0] in (200, 201)

    def send(self, *messages):
        body = [{"body": m.get("id")} | m for m in messages]
        status, answer = self("POST", "/messages", {"messages": body})
        assert status in (200, 201), answer

    def take(self, **how):
        status, answer = self("POST", "/receive", {"limit": 10} | how)
        assert status == 200, answer
        self.receipts |= {m["id"]: m["receipt"] for m in answer["messages"]}
        return [m["id"] for m in answer["messages"]]

    def end(self, id, how, body=None):
        return self("POST" if how[:1] == "/" else "DELETE", f"/deliveries/{self.receipts.get(id, 'gone')}{how}", body)

    def settle(self, how, *ids):
        """Settles late; `how` makes the row of a receipt."""
        receipts = [self.receipts[i] for i in ids if i in self.receipts]
        return self("POST", "/settle", how(receipts) | {"late": True}) if receipts else None

    def pass_ms(self, ms):
        self.stage.pass_ms(ms)


def of(*names, **more):
    return [{"id": name} | more for name in names]


def delivered(queue, visibility_ms=1000, messages=of("a", "b"), **settings):
    """Deliveries that end after a second, and then two more seconds."""
    queue.put(**settings)
    queue.send(*messages)
    queue.take(visibility_ms=visibility_ms)
    queue.pass_ms(3000)


def died(queue, ms, **settings):
    queue.put(max_receives=1, **settings)
    queue.send(*of("a", "b"), {"id": "x", "group": "g"})
    queue.take(visibility_ms=1000)
    queue.pass_ms(1001)
    queue.stage.settle()
    queue.pass_ms(ms)


def past_ttl(queue, messages, take=0, **settings):
    queue.put(**settings)
    queue.send(*messages)
    if take:
        queue.take(limit=take, visibility_ms=500)
    queue.pass_ms(3000)


def in_backoff(queue, **settings):
    """`a` is rejected; its next try would be after its ttl."""
    queue.put(backoff=LONG, **settings)
    queue.send({"id": "a", "group": "g", "ttl_ms": 2000}, {"id": "b", "group": "g"})
    queue.take(limit=1)
    queue.end("a", "/reject", {})
    queue.pass_ms(3000)


def cancelled(queue, **settings):
    delivered(queue, 2000, **settings)
    queue.stage.begin()
    queue.put(**settings)
    queue.send(*of("a", "b"))
    queue.take(visibility_ms=1000)
    assert queue("DELETE", "/messages/a?in_flight=true")[0] == 204
    queue.pass_ms(3000)


def done(queue, **settings):
    queue.put(**settings)
    queue.send(*of("a", "b"))
    queue.take(acknowledge=True)
    queue.pass_ms(3000)


def limited(queue, pause=False, **settings):
    queue.put(**settings)
    queue.send(*of("a", "b", "c", group="g"))
    if pause:
        queue("POST", "/groups/g/pause", {"for_ms": 1000})
    queue.take(acknowledge=True)
    queue.pass_ms(3000)


def followed(queue, **settings):
    """`a` has ended in flight, and another `a` waits for its end."""
    queue.put(**settings)
    queue.send(*of("a", "b"))
    queue.take(visibility_ms=1000)
    queue.send({"id": "a", "body": 2, "on_duplicate": "after"})
    queue.pass_ms(3000)


GROUP = of("a", "b", "c", group="g") + of("d", group="h")
STATES = {
    "visible again": lambda q: delivered(q),
    "in backoff": lambda q: delivered(q, backoff=LONG),
    "dead by visibility": lambda q: delivered(q, max_receives=1),
    "dead by visibility, full": lambda q: delivered(q, max_receives=1, max_messages=2),
    "of a group": lambda q: delivered(q, messages=GROUP),
    "of a strict group": lambda q: delivered(q, messages=GROUP, order="strict"),
    "of a strict group, in backoff": lambda q: delivered(q, messages=GROUP, order="strict", backoff=LONG),
    "of a strict group, dead": lambda q: delivered(q, messages=GROUP, order="strict", max_receives=1),
    "of a group with one at a time": lambda q: delivered(q, messages=GROUP, group_concurrency=1),
    "of a queue with two at a time": lambda q: delivered(q, messages=of("a", "b", "c"), concurrency=2, backoff=LONG),
    "past its ttl": lambda q: past_ttl(q, of("a", "b", ttl_ms=1000) + of("c")),
    "past its ttl, full": lambda q: past_ttl(q, of("a", ttl_ms=1000) + of("b"), max_messages=2),
    "past its ttl, of a group": lambda q: past_ttl(q, of("a", "b", ttl_ms=1000, group="g") + of("c", group="h")),
    "past its ttl, before others": lambda q: past_ttl(q, of("a", ttl_ms=1000, group="g") + of("b", group="g")),
    "past its ttl, delayed": lambda q: past_ttl(q, of("a", ttl_ms=1000, delay_ms=900) + of("b", delay_ms=2000)),
    "past its ttl, in flight": lambda q: past_ttl(q, of("a", "b", ttl_ms=1000), take=1),
    "past its ttl, in flight, strict": lambda q: past_ttl(
        q, of("a", "b", ttl_ms=1000, group="g"), take=1, order="strict"),
    "past its ttl, in backoff": in_backoff,
    "past its ttl, in backoff, strict": lambda q: in_backoff(q, order="strict"),
    "due": lambda q: past_ttl(q, of("a", "b", delay_ms=1000) + of("x", delay_ms=2000, group="g")),
    "due, strict": lambda q: past_ttl(q, of("a", "b", delay_ms=1000, group="g"), order="strict"),
    "past its retention": lambda q: died(q, 2000, dead_retention_ms=1000),
    "dead": lambda q: died(q, 2000),
    "cancelled in flight": cancelled,
    "cancelled in flight, full": lambda q: cancelled(q, max_messages=2),
    "no longer remembered": lambda q: done(q, dedupe_ms=1000),
    "no longer kept": lambda q: done(q, dedupe_ms=1000, result_ms=1000),
    "kept": lambda q: done(q, result_ms=60000),
    "no longer limited": lambda q: limited(q, group_rate={"limit": 1, "window_ms": 1000}),
    "no longer paused": lambda q: limited(q, pause=True),
    "no longer paused, strict": lambda q: limited(q, pause=True, order="strict"),
    "before one that waits": lambda q: followed(q),
    "dead, before one that waits": lambda q: followed(q, max_receives=1),
}  # fmt: skip


def send(**message):
    return lambda q: q("POST", "/messages", {"body": 9} | message)


def fill_other(stage):
    """Another queue has dead letters with the same ids."""
    assert stage.call("POST", "/queues/other/messages", {"messages": [{"id": i, "body": 1} for i in "abx"]})[0] == 201
    for message in stage.call("POST", "/queues/other/receive", {"limit": 3})[1]["messages"]:
        stage.call("POST", f"/queues/other/deliveries/{message['receipt']}/reject", {"dead": True})


OPERATIONS = {
    "look": lambda q: q("GET"),
    "send": send(),
    "send to a group": send(group="g"),
    "send five": lambda q: q("POST", "/messages", {"messages": [{"body": i} for i in range(5)]}),
    **{f"send a, {how}": send(id="a", on_duplicate=how, group="g") for how in ("keep", "replace", "extend", "after")},
    "wait for room": send(wait_room_ms=1),
    "receive": lambda q: q("POST", "/receive", {"limit": 10}),
    "receive one": lambda q: q("POST", "/receive", {"limit": 1}),
    "receive and acknowledge": lambda q: q("POST", "/receive", {"limit": 10, "acknowledge": True}),
    "acknowledge a": lambda q: q.end("a", ""),
    "extend a": lambda q: q.end("a", "/extend", {}),
    "reject a": lambda q: q.end("a", "/reject", {"delay_ms": 0}),
    "settle a": lambda q: q("POST", "/settle", {"acknowledge": [q.receipts["a"]]}) if "a" in q.receipts else None,
    **{f"acknowledge {i} late": lambda q, i=i: q.end(i, "?late=true") for i in "abx"},
    "reject a late": lambda q: q.end("a", "/reject", {"delay_ms": 0, "late": True}),
    "reject a late, uncounted": lambda q: q.end("a", "/reject", {"counted": False, "late": True}),
    "reject a late, dead": lambda q: q.end("a", "/reject", {"dead": True, "late": True}),
    "extend a late": lambda q: q.end("a", "/extend", {"late": True}),
    "acknowledge all late": lambda q: q.settle(lambda receipts: {"acknowledge": receipts}, *"abcdx"),
    "complete all late": lambda q: q.settle(
        lambda receipts: {"complete": [{"receipt": r, "result": 1} for r in receipts]}, *"abcdx"),
    "reject all late": lambda q: q.settle(lambda receipts: {"reject": [{"receipt": r} for r in receipts]}, *"abcdx"),
    **{f"look at {i}": lambda q, i=i: q("GET", f"/messages/{i}") for i in "abx"},
    **{f"delay {i}": lambda q, i=i: q("PATCH", f"/messages/{i}", {"delay_ms": 5}) for i in "abx"},
    **{f"prefer {i}": lambda q, i=i: q("PATCH", f"/messages/{i}", {"priority": 1}) for i in "abx"},
    **{f"delete {i}": lambda q, i=i: q("DELETE", f"/messages/{i}") for i in "abx"},
    "delete a in flight": lambda q: q("DELETE", "/messages/a?in_flight=true"),
    **{f"purge {s}": lambda q, s=s: q("POST", "/purge", {"state": s})
       for s in ("ready", "blocked", "delayed", "in_flight", "dead")},
    "purge": lambda q: q("POST", "/purge", {}),
    "redrive": lambda q: q("POST", "/redrive", {"limit": 9}),
    "run delayed": lambda q: q("POST", "/redrive", {"state": "delayed"}),
    "redrive ids": lambda q: q("POST", "/redrive", {"ids": ["a", "b", "x"]}),
    "redrive a group": lambda q: q("POST", "/redrive", {"group": "g"}),
    "redrive to it": lambda q: q.stage.call("POST", "/queues/other/redrive", {"limit": 9, "to": "q"}),
    "make it strict": lambda q: q("PATCH", "", {"order": "strict"}),
    "make it fair": lambda q: q("PATCH", "", {"order": "fair"}),
    "give it room": lambda q: q("PATCH", "", {"max_messages": 9}),
    "pause the group": lambda q: q("POST", "/groups/g/pause", {"for_ms": 1000}),
    "resume the group": lambda q: q("POST", "/groups/g/resume", {}),
    "purge the group": lambda q: q("POST", "/purge", {"group": "g"}),
    "delete it": lambda q: q("DELETE"),
}  # fmt: skip

# (state, operation) to why the two differ.
LATER = "a send settles nothing: the message that follows a delivery gets its sequence when that is settled"
TURN = "of a group, deliver_at_ms is when the message got its turn"
KEPT = ("send a, keep", "send a, extend", "send a, after")
KNOWN = {
    **{("dead, before one that waits", each): LATER
       for each in ("send", "send to a group", "send five", "wait for room", "redrive to it", "send a, keep")},
    **{(state, each): TURN
       for state in ("due, strict", "no longer paused", "no longer paused, strict") for each in KEPT},
    **{(state, "send a, keep"): TURN for state in ("of a group", "of a group with one at a time")},
}  # fmt: skip


# ---- What is held for a time ----


def granted(stage, path, body, field, end, ms=1000):
    """Acquires something for `ms`. Returns what ends it by hand: a method, a path and headers."""
    status, answer = stage.call("POST", path, body | {"ttl_ms": ms})
    assert status in (200, 201), answer
    method, target, headers = end
    return method, target.format(answer[field]), {k: v.format(answer[field]) for k, v in headers.items()}


def shared(stage):
    """One of two holders of a shared lock stays."""
    granted(stage, "/locks/a", {"mode": "shared"}, "token", ("", "", {}), 60000)
    return granted(stage, "/locks/a", {"mode": "shared"}, "token", RELEASE)


def sold(stage):
    assert stage.call("PUT", "/sales/a", {"stock": 2, "per_user": 1, "hold_ms": 1000})[0] == 201
    status, answer = stage.call("POST", "/sales/a/claims", {"user": "u"})
    assert status == 201, answer
    return "DELETE", f"/sales/a/claims/{answer['claim']}", {}


def filled(kind, more, **of_kind):
    def fill(stage):
        status, answer = stage.call("PUT", f"/{kind}/a", of_kind | {"ttl_ms": 1000})
        assert status in (200, 201), answer
        status, answer = stage.call(*more) if more else (200, None)
        assert status in (200, 201), answer
        return "DELETE", f"/{kind}/a", {}

    return fill


RELEASE = ("DELETE", "/locks/a", {"Lock-Token": "{}"})
LOOKS = ("", "?", "/members", "/claims", "/waiters")
# What is held, to how it is made; and for each kind more operations, by method, target and body.
HOLDS = {
    "locks": lambda s: granted(s, "/locks/a", {}, "token", RELEASE),
    "locks, shared": shared,
    "semaphores": lambda s: granted(
        s, "/semaphores/a/permits", {"limit": 1}, "permit", ("DELETE", "/semaphores/a/permits/{}", {})),
    "sales": sold,
    "cache": filled("cache", None, value=1),
    "sets": lambda s: (s.call("POST", "/sets/a/members", {"add": ["m"]}), s.call("PATCH", "/sets/a", {"ttl_ms": 1000}),
                       ("DELETE", "/sets/a", {}))[-1],
    "leaderboards": filled(
        "leaderboards", ("PUT", "/leaderboards/a/members/m", {"scores": {"s": 1}}), dimensions=["s"]),
}  # fmt: skip
ACTIONS = {
    "locks": [("POST", "/locks/a", {}), ("POST", "/locks/a", {"mode": "shared"}),
              ("POST", "/locks", {"names": ["a", "b"], "ttl_ms": 1000})],
    "semaphores": [("POST", "/semaphores/a/permits", {"limit": 1})],
    "sales": [("POST", "/sales/a/claims", {"user": "u"}), ("POST", "/sales/a/claims", {"user": "v", "quantity": 2}),
              ("PATCH", "/sales/a", {"stock": 3})],
    "cache": [("PUT", "/cache/a", {"value": 2}), ("POST", "/cache/a/fill", {}), ("POST", "/cache/a/invalidate", {})],
    "sets": [("POST", "/sets/a/members", {"add": ["n"]}), ("PATCH", "/sets/a", {"ttl_ms": 5}),
             ("POST", "/sets/b/merge", {"union": ["a"]}), ("POST", "/sets/a/lookup", {"members": ["m"]})],
    "leaderboards": [("PUT", "/leaderboards/a", {"dimensions": ["s"]}), ("PATCH", "/leaderboards/a", {"max_members": 5}),
                     ("PUT", "/leaderboards/a/members/m", {"scores": {"s": 2}}),
                     ("POST", "/leaderboards/b/merge", {"sources": ["a"]})],
}  # fmt: skip
# And what the daemon measures by its own clock.
RANDOM = re.compile(r'"(token|permit|claim|version|ticket|request_id)": ("[^"]*"|null)|"polled_ms": (\d+|null)')


def ended(stage, hold, operation, by_hand):
    """What the operation and all looks answer, once a hold has ended."""
    stage.begin()
    method, target, headers = HOLDS[hold](stage)
    if by_hand:
        stage.pass_ms(999)
        assert stage.call(method, target, None, headers)[0] in (200, 204)
        stage.pass_ms(4001)
    else:
        stage.pass_ms(5000)
    kind = hold.split(",")[0]
    answers = [stage.call(*operation)]
    answers += [stage.call("GET", f"/{kind}" if look == "?" else f"/{kind}/a{look}") for look in LOOKS]
    return RANDOM.sub(r'"\1"', json.dumps(answers))


def holds_that_differ(stage):
    for hold in HOLDS:
        kind = hold.split(",")[0]
        for operation in [("GET", f"/{kind}/a", None), ("DELETE", f"/{kind}/a", None), *ACTIONS[kind]]:
            by_time, by_hand = (ended(stage, hold, operation, by_hand) for by_hand in (False, True))
            if by_time != by_hand:
                yield f"{hold}, {operation}:\n    by time {by_time}\n    by hand {by_hand}"


# ---- What is left ----


def use(queue, acknowledge=True, more=None, **settings):
    """Sends messages in several ways, some with a separate group, and takes them."""
    queue.put(**settings)
    for n in range(20):
        each = {"id": f"i{n}"} if n % 2 else {"body": n}
        queue.send({"id": f"g{n}", "group": f"g{n}"}, {"body": n, "group": f"h{n}"}, {"body": n} | each)
        queue.send({"id": f"t{n}", "ttl_ms": 500}, {"id": f"d{n}", "delay_ms": 100, "ttl_ms": 60000})
        if n % 3 == 0:
            queue.send({"id": f"g{n}", "body": 1, "on_duplicate": "after"})
        queue.take(limit=3, **({"acknowledge": True} if acknowledge else {"visibility_ms": 1000}))
        if more:
            more(n)
        queue.pass_ms(300)


def cancel_some(queue):
    return lambda n: queue("DELETE", f"/messages/g{n}?in_flight=true")


def pause_some(queue):
    return lambda n: queue("POST", f"/groups/h{n}/pause", {"for_ms": 100})


RATE = {"limit": 100, "window_ms": 1000}
USES = {
    "acknowledged at once": use,
    "acknowledged at once, a rate for each group": lambda q: use(q, group_rate=RATE, dedupe_ms=0),
    "acknowledged at once, the rules are gone": lambda q: (use(q, group_rate=RATE, rate=RATE), q.put()),
    "acknowledged at once, with results": lambda q: use(q, result_ms=60000),
    "without an answer": lambda q: use(q, acknowledge=False, max_receives=2),
    "without an answer, strict": lambda q: use(q, acknowledge=False, max_receives=2, order="strict"),
    "without an answer, in groups": lambda q: use(q, acknowledge=False, max_receives=1, group_concurrency=1),
    "cancelled": lambda q: use(q, acknowledge=False, more=cancel_some(q)),
    "paused groups": lambda q: use(q, more=pause_some(q)),
    "redriven": lambda q: use(q, False, lambda n: q("POST", "/redrive", {"limit": 9}), max_receives=1),
}


def left_of(stage, name):
    """What is left in Redis of a use, by key."""
    stage.begin()
    queue = Queue(stage)
    USES[name](queue)
    for _ in range(40):  # what is left is taken, and trimmed
        queue.pass_ms(86400000)
        queue.take(limit=100, acknowledge=True)
    return {part: n for part in PARTS if (n := stage.members(f"p:queue:{{q}}{part}"))}


def looks(queue):
    """What all reads return."""
    seen = {"queue": queue("GET"), "groups": queue("GET", "/groups")}
    for state in ("ready", "blocked", "delayed", "in_flight", "dead"):
        seen[state] = queue("GET", f"/messages?state={state}")
    seen["delayed"][1].get("items", []).sort(key=lambda m: m["id"])  # the instants of a backoff are random
    return seen


def plain(value, now):
    """Without what is random: receipts, and the instants of a backoff."""
    if isinstance(value, dict):
        return {k: plain("later" if k in ("deliver_at_ms", "until_ms") and isinstance(v, int) and v > now else v, now)
                for k, v in value.items() if k not in ("receipt", "next_cursor", "request_id")}  # fmt: skip
    if isinstance(value, list | tuple):
        return [plain(v, now) for v in value]
    return re.sub(r"\d{16}\.[0-9a-f]{16}\.[0-9a-f]{8}", "receipt", value) if isinstance(value, str) else value


def outcome(stage, state, operation, settles):
    stage.begin()
    queue = Queue(stage)
    STATES[state](queue)
    fill_other(stage)
    if settles:
        stage.settle()
    now = stage.us // 1000
    answer = OPERATIONS[operation](queue)
    return json.loads(json.dumps(plain({"answer": answer} | looks(queue), now)))


def differences(stage, state, operation):
    as_it_is, settled = (outcome(stage, state, operation, settles) for settles in (False, True))
    return {k: (as_it_is[k], settled[k]) for k in as_it_is if as_it_is[k] != settled[k]}


def main(program, shim, *only):
    failures, met = [], set()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(program, shim, folder)
        try:
            for state in STATES if not only else only[:1]:
                for operation in OPERATIONS if not only else only[1:]:
                    differ = differences(stage, state, operation)
                    if differ:
                        met.add((state, operation))
                    if only or differ and (state, operation) not in KNOWN:
                        failures.append((state, operation, differ))
            left = {} if only else {name: left_of(stage, name) for name in USES}
            holds = [] if only else list(holds_that_differ(stage))
        finally:
            stage.end()
    for state, operation, differ in failures:
        print(f"{state}, {operation}:")
        for name, (as_it_is, settled) in differ.items():
            print(f"  {name}:\n    as it is {json.dumps(as_it_is)}\n    settled  {json.dumps(settled)}")
    for state, operation in () if only else KNOWN.keys() - met:
        failures.append((state, operation, None))
        print(f"{state}, {operation}: no longer different; remove it from KNOWN")
    print("".join(text + "\n" for text in holds), end="")
    for name, keys in left.items():
        if keys:
            print(f"{name}: left are {keys}")
    print(f"{len(STATES)} states, {len(OPERATIONS)} operations: {len(failures)} differ; {len(USES)} uses")
    sys.exit(bool(failures or holds or any(left.values())))


if __name__ == "__main__":
    main(*sys.argv[1:])
