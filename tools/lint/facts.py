#!/usr/bin/env python3
"""Lint: a number that a page states is the number in the program.

A row of FACTS has the place that decides a number, and the places that state it. Each pattern has
one group, the number. `scale` is how many of the first unit make one of the second. A pattern that
matches nothing is a finding, too: the statement was reworded or removed, and its row must be
changed.
"""
import re

import yaml

import tree

FACTS = [
    # what, (file, pattern) that decides, scale, [(file, pattern) that states]
    (
        "grace time, ms",
        ("service/http/response.c", r"GRACE_US = (\d+)"),
        1000,
        [
            ("docs/glossary.md", r"grace polls \| polling a request for up to (\d+) ms"),
            ("ARCHITECTURE.md", r"polls the request for up to (\d+) ms \(grace polls\)"),
            ("docs/adr/0006-behind-libmicrohttpd.md", r"for at most (\d+) ms\. Then"),
        ],
    ),
    (
        "grace polls",
        ("service/http/response.c", r"MAX_GRACE_POLLS = (\d+)"),
        1,
        [("docs/adr/0006-behind-libmicrohttpd.md", r"for up to (\d+) runs")],
    ),
    (
        "a stall, ms",
        ("service/core/loop.c", r"STALL_US = (\d+)"),
        1000,
        [
            ("ARCHITECTURE.md", r"an iteration over (\d+) ms is counted as a stall"),
            ("docs/glossary.md", r"a stall is one of more than (\d+) ms"),
            ("service/process/metrics.c", r"Loop iterations of more than (\d+) ms"),
        ],
    ),
    (
        "pipelined bytes, KiB",
        ("service/http/response.c", r"MAX_PIPELINED_BYTES = (\d+) \* 1024"),
        1,
        [
            ("docs/guarantees.md", r"When more than (\d+) KiB are\s+pending behind"),
            ("docs/limits.md", r"requests pipelined behind one that waits or streams \| (\d+) KiB"),
        ],
    ),
    (
        "a request's head, KiB",
        ("service/http/precheck.h", r"PRECHECK_HEAD_BYTES = (\d+) \* 1024"),
        1,
        [
            ("docs/limits.md", r"64 bytes more for each header \| (\d+) KiB"),
            ("SECURITY.md", r"heads over (\d+) KiB"),
        ],
    ),
    (
        "nesting of JSON, levels",
        ("service/json/read.c", r"MAX_DEPTH = (\d+)"),
        1,
        [
            ("docs/reference.md", r"with at most (\d+)\s+levels"),
            ("docs/limits.md", r"nesting of JSON \| (\d+) levels"),
            ("docs/queues.md", r"more than (\d+) levels"),
        ],
    ),
    (
        "nesting of a reply of Redis",
        ("service/redis/reply_reader.c", r"MAX_DEPTH = (\d+)"),
        1,
        [("SECURITY.md", r"at most (\d+) levels")],
    ),
    (
        "an Idempotency-Key is kept, hours",
        ("service/process/options.def", r'"idempotency-ttl-ms", "MS", (\d+)'),
        3600000,
        [
            ("README.md", r"while Redis keeps its record: (\d+) hours, or"),
            ("docs/guarantees.md", r"records: (\d+) hours, the\s+time of a grant"),
            ("docs/retries.md", r"changes something \| (\d+) h, or"),
            ("openapi/root.yaml", r"The response is kept for (\d+)\s+h"),
        ],
    ),
    (
        "bits of a Bloom filter for a million items",
        ("docs/bloom.md", r'"size":0,"bits":(\d+)'),  # an answer of the daemon, which the test of the page checks
        1000000,
        [
            ("docs/bloom.md", r"about (\d+) bits per item at one error in a hundred"),
            ("openapi/root.yaml", r"about (\d+) bits per item at an error rate of 0.01"),
        ],
    ),
    (
        "one of so many allocations of TLS to Redis fails",
        ("tests/faults/test_torture.c", r"TLS_STEP = (\d+)"),
        1,
        [("SECURITY.md", r"one in (\d+)"), ("tests/verify/report", r"only each (\d+)st")],
    ),
    (
        "longest wait, ms",
        ("openapi/root.yaml", r"(?s)\n    Wait:.*?maximum: (\d+)"),
        1000,
        [("docs/guarantees.md", r"lets a request wait, for (\d+) s at most")],
    ),
]

# Operations that change something and take no Idempotency-Key, as retries.md lists them; PUT and
# DELETE are not exceptions there.
WITHOUT_KEY = {
    "lock_hold",
    "fence_check",
    "queue_delivery_extend_many",
    "queue_group_pause",
    "queue_group_resume",
    "name_index_rebuild",
}

lint = tree.Lint("State the number that the program has, or change the row. The rule: FACTS of tools/lint/facts.py.")


def number(path, pattern):
    """(the number, its line); None when the pattern matches nothing."""
    text = tree.pathlib.Path(path).read_text()
    match = re.search(pattern, text)
    if match:
        return int(match[1]), tree.line_of(text, match.start(1))
    lint.finding(path, 1, f"nothing matches {pattern!r}")
    return None


def count_patterns():
    """The number of patterns of the API: the tags of the contract, except the tags that are not
    patterns.
    """
    text = tree.pathlib.Path("openapi/root.yaml").read_text()
    tags = re.findall(r"^  - name: (\w.*)$", text[text.index("\ntags:") :], re.M)
    return len(set(tags) - {"Push", "Keys", "Daemon"})


def without_key():
    """POST operations that change something and take no Idempotency-Key."""
    paths = yaml.safe_load(tree.pathlib.Path("openapi.yaml").read_text())["paths"].values()
    for operation in (path["post"] for path in paths if "post" in path):
        takes = any("IdempotencyKey" in parameter.get("$ref", "") for parameter in operation.get("parameters", []))
        if operation["x-effect"] != "reads" and not takes:
            yield operation["operationId"]


if set(without_key()) != WITHOUT_KEY:
    wrong = ", ".join(sorted(set(without_key()) ^ WITHOUT_KEY))
    lint.finding("docs/retries.md", 1, f"whether these take an Idempotency-Key, here and above: {wrong}")
for what, decides, scale, stated in FACTS:
    is_number = number(*decides)
    for place in stated:
        found = number(*place)
        if is_number and found and found[0] != is_number[0] // scale:
            lint.finding(place[0], found[1], f"{what}: {found[0]}, but {decides[0]} has {is_number[0] / scale:g}")
for place, beside in (
    (("README.md", r"rate limits and (\d+) other Redis patterns"), 3),
    (("docs/compare.md", r"patternd offers (\d+) patterns"), 0),
):
    found = number(*place)
    if found and found[0] + beside != count_patterns():
        lint.finding(place[0], found[1], f"patterns: {found[0]}, but the contract has {count_patterns() - beside}")
lint.done()
