#!/usr/bin/env python3
"""Counts the Redis commands that each script runs: tests/test_costs.py PATTERND OPENAPI.JSON
[--record]

Runs the tours of bench/tours.py, and MORE_TOURS for the scripts that these leave out. It compares
each script call with tests/scripts/costs.json. The file has a list for each tour: the scripts in
the order in which they run, each with the exact number of commands inside it. A change that adds a
command fails here, and so does an operation without a step in a tour. To accept a change, edit the
rows that the failure names, or rewrite the file by --record, and give the reason in the commit. A
new script needs a step in a tour, or its name in NO_TOUR.
"""
import difflib
import json
import re
import sys

sys.dont_write_bytecode = True
from test_redis_replies import MORE_TOURS as SHARED_TOURS, OPERATIONS, ROOT, Stage, instructions, operation_of, tours

TABLE = ROOT / "tests" / "scripts" / "costs.json"
LIMIT = {"limit": 100, "window_ms": 60000, "burst": None}
CHECKS = [{"name": f"k{i}", "key": "k", "limit": 5, "window_ms": 60000, "algorithm": "gcra"} for i in (1, 2)]
MORE_TOURS = SHARED_TOURS | {
    "a lock a second time": [
        "lock_acquire",
        ("lock_release", {"Lock-Token": "$token"}),
        "lock_acquire",
        ("lock_acquire", {"Lock-Token": "$token"}),
        ("lock_release", {"Lock-Token": "$token"}),
    ],
    "with an Idempotency-Key": [
        ("lock_acquire", {"Idempotency-Key": "a", "wait_ms": None}),
        ("lock_acquire", {"Idempotency-Key": "a", "wait_ms": None}),
        ("counter_increment", {"Idempotency-Key": "b"}),
        ("counter_increment", {"Idempotency-Key": "b"}),
    ],
    "a policy of a queue, with an Idempotency-Key": [
        "ratelimit_policy_put",
        ("queue_put", {"policy": {"name": "replies", "key": "k"}}),
        ("queue_message_send", {"delay_ms": 0}),
        ("queue_message_receive", {"Idempotency-Key": "a", "settle": None, "wait_ms": None}),
        ("queue_message_receive", {"Idempotency-Key": "a", "settle": None, "wait_ms": None}),
    ],
    "other limits": [
        ("ratelimit_take", LIMIT | {"algorithm": "fixed_window"}),
        ("ratelimit_take", LIMIT | {"algorithm": "fixed_window"}),
        ("ratelimit_take", LIMIT | {"algorithm": "sliding_window"}),
        ("ratelimit_take", LIMIT | {"algorithm": "sliding_window"}),
        (
            "ratelimit_take",
            {name: None for name in ("key", "algorithm", "limit", "window_ms", "burst", "cost")} | {"checks": CHECKS},
        ),
    ],
    "a filter that its first add makes": ["bloom_item_add"],
    "what is there already": [
        "uv_add",
        "uv_add",
        "pv_add",
        "pv_add",
        "feed_item_push",
        "feed_item_push",
        "cache_put",
        "cache_put",
        "geo_member_put",
        "geo_member_put",
    ],
}
BY_TIME = {"queue_worker_seen"}  # once per worker and second: a slow machine runs it more often
# Scripts that no tour runs: scripts for other topologies, for waiting and for long work.
NO_TOUR = {
    "several slots": "ratelimit_compensate uv_merge_part uv_merge_sum uv_combine_part uv_combine_sum",
    "several servers": "lock_confirm lock_quorum_fence lock_quorum_take lock_revoke",
    "a client that disconnects": "cache_leave lock_leave queue_delivery_return queue_leave queue_room_leave"
    " ratelimit_leave",
    "500 keys at a time": "page_delete",
    "a name that is gone": "name_forget",
    "a move without a client": "queue_letters_claim",
    "a move between slots, or of ready messages": "queue_letters_read queue_letters_remove queue_letters_store"
    " queue_moved_remove",
    "what time has ended": "queue_settle",
    "how often is counted by tests/api/test_queues_workers.c": " ".join(BY_TIME),
}


FIRST_KEY = re.compile(rb"p:(\w+):\{(.*)\}")


def indexed_kinds():
    """INDEXED_KINDS of handlers/common/key_kinds.h: kinds whose lists are read from an index."""
    text = (ROOT / "handlers/common/key_kinds.h").read_text().replace("\\\n", " ")
    kinds = dict(re.findall(r'#define (KEY_\w+)\s+"(\w+)"', text))
    indexed = set(re.findall(r"KEY_\w+", re.search(r"#define INDEXED_KINDS (.*)", text)[1]))
    listed = {
        kind
        for path in (ROOT / "handlers").rglob("*.c")
        for kind in re.findall(r"\.kind = (KEY_\w+), \.is_indexed = true", path.read_text())
    }
    if indexed != listed:
        sys.exit(f"handlers/common/key_kinds.h: INDEXED_KINDS and the lists that are read from an index differ: {indexed ^ listed}")
    return {kinds[kind].encode() for kind in indexed}


INDEXED = indexed_kinds()


# Commands of other connections, of every script, and of out_of_time(), which differ by version.
NOT_COUNTED = {b"time", b"info", b"evalsha", b"config|resetstat", b"ping"}


class Costs:
    """Counts the commands that Redis runs during each script, by Redis's own statistics."""

    def __init__(self, stage):
        self.stage, self.redis, self.rows = stage, stage.proxy.redis, []
        stage.proxy.run = self.run

    def run(self, command):
        name = operation_of(command)
        if not name:
            return self.redis.ask(*command)
        _, reply, statistics = self.redis.ask_all([["CONFIG", "RESETSTAT"], command, ["INFO", "commandstats"]])
        calls = re.findall(rb"cmdstat_(\S+?):calls=(\d+)", statistics)
        self.has_looked |= any(verb == b"zrandmember" for verb, _ in calls)
        if name in BY_TIME:
            return reply
        self.rows.append(f"{name} {sum(int(n) for verb, n in calls if verb not in NOT_COUNTED)}")
        return reply

    def visit(self, operation, request):
        answer, body = self.stage.ask(request)
        if answer.status >= 300:
            self.stage.flaw(f"{operation}: {answer.status} {body}")
        for key in self.redis.ask("KEYS", "p:*}"):
            kind, name = FIRST_KEY.fullmatch(key).groups()
            if kind in INDEXED and self.redis.ask("ZSCORE", b"p:names:{}:" + kind, name) is None:
                self.stage.flaw(f"{operation}: made {key.decode()}, and its name is in no index: see lua/lib/made.lua")
        return body

    def table(self):
        table = {}
        for name, tour in (tours.TOURS | MORE_TOURS).items():
            self.has_looked = name != "daemon"
            while self.has_looked:  # at other names, as one of eight does (lua/lib/made.lua): walk once more
                table[name], self.has_looked = [], False
                self.rows = table[name]
                self.stage.walk(tour, self.visit)
        return table


def main(program, contract, *options):
    stage = Stage(program, contract)
    try:
        table = Costs(stage).table()
    finally:
        stage.stop()
    seen = {row.split()[0] for rows in table.values() for row in rows}
    excused = {name for names in NO_TOUR.values() for name in names.split()}
    for name in sorted((OPERATIONS - seen) ^ excused):
        stage.flaw(
            f"{name}: is in NO_TOUR of tests/test_costs.py, but a tour runs it or there is no such script: delete it there"
            if name in excused
            else f"{name}: no tour runs this script: add its operation to TOURS of bench/tours.py, "
            "or its name to NO_TOUR of tests/test_costs.py"
        )
    toured = {step if isinstance(step, str) else step[0] for tour in tours.TOURS.values() for step in tour}
    for name in sorted(instructions.Contract().operations.keys() - toured - tours.NOT_MEASURED.keys()):
        stage.flaw(f"{name}: needs a step in a tour, or its name in NOT_MEASURED, of bench/tours.py")
    found = json.dumps(table, indent=1) + "\n"
    if "--record" in options:
        TABLE.write_text(found)
    was = TABLE.read_text()
    sys.stdout.writelines(
        difflib.unified_diff(was.splitlines(True), found.splitlines(True), "tests/scripts/costs.json", "now", n=1)
    )
    if was != found:
        stage.flaw(
            "scripts run another number of commands: make them cheaper, or accept them: "
            "python3 tests/test_costs.py build/patternd build/generated/openapi.json --record"
        )
    if stage.flaws:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
