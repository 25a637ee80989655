#!/usr/bin/env python3
"""Lint: a number that a page states is the number in the program.

The rows are in fact_rows.py. A pattern that matches nothing is a finding, too: the statement was
reworded or removed, and its row must be changed.
"""
import re

import yaml

import tree
from fact_rows import FACTS

# Operations that change something and take no Idempotency-Key, as retries.md lists them; PUT and
# DELETE are not exceptions there.
WITHOUT_KEY = {
    "lock_hold",
    "fence_check",
    "queue_delivery_list_extend",
    "queue_pause",
    "queue_resume",
    "queue_group_pause",
    "queue_group_resume",
    "name_index_rebuild",
}

lint = tree.Lint("State the number that the program has, or change the row. The rule: tools/lint/fact_rows.py.")


def number(path, pattern):
    """(the number, its line); None when the pattern matches nothing."""
    text = tree.pathlib.Path(path).read_text()
    match = re.search(pattern.replace(" ", r"\s+"), text)  # a sentence may be wrapped anywhere
    if match:
        return int(match[1]), tree.line_of(text, match.start(1))
    lint.finding(path, 1, f"nothing matches {pattern!r}")
    return None


def without_key():
    """POST operations that change something and take no Idempotency-Key."""
    text = tree.pathlib.Path("openapi.yaml").read_text()
    paths = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["paths"].values()
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
        if is_number and found and found[0] * scale != is_number[0]:
            lint.finding(place[0], found[1], f"{what}: {found[0]}, but {decides[0]} has {is_number[0] / scale:g}")
lint.done()
