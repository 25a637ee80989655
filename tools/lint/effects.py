#!/usr/bin/env python3
"""Lint: the table "Did it happen?" of docs/retries.md names each code that the daemon may answer
with the effect `applied` or `unknown`, and no other code.

It reads the calls of service/ and handlers/ that answer with one of these effects, and the rows of
errors.def whose usual effect is `unknown`. Which codes a second step or slot makes `unknown`
(`has_effect`) depends on the step: the table has "any error" for it.
"""
import re

import tree

EFFECT = re.compile(r"EFFECT_(APPLIED|UNKNOWN)\b")
ERRORS = tree.pathlib.Path("service/request/errors.def").read_text()
ROWS = re.findall(r'^PROBLEM\((\w+), "(\w+)", \d+, EFFECT_(\w+)', ERRORS, re.M)
CODE_OF = {name: code for name, code, _ in ROWS}
REPLAYS = "".join(path.read_text() for path in tree.files("openapi", ".yaml"))
# What such a call has in place of a P_... name, and the codes that it means.
MEANS = {
    "answer_no_memory": {"overloaded"},
    "lock_round_answer_none": {"no_quorum"},
    "limits->refusal": {"rate_limited", "rate_denied"},
    "grant_ended": set(re.findall(r"^ +x-replay: (\w+)", REPLAYS, re.M)) & set(CODE_OF.values()),
}
# Functions that return the effect of such a call.
EFFECTS_OF = {"effect_of(": {"unknown"}, "effect_of_refusal(": {"applied", "unknown"}}
# Codes that the table has as examples of "any error".
EXAMPLES = {"unknown": {"lock_held"}, "applied": set()}

lint = tree.Lint("Name the code in the table of docs/retries.md. The rule: tools/lint/effects.py.")


def calls():
    """(file, line, effects, codes) of each call that answers with one of the two effects."""
    for path in tree.files("service", ".c") + tree.files("handlers", ".c"):
        code = tree.code_of(path.read_text())
        for call in re.finditer(r"\w*answer\w*\([^;{]*;", code):
            effects = {effect.lower() for effect in EFFECT.findall(call[0])}
            effects |= set().union(*(found for name, found in EFFECTS_OF.items() if name in call[0]))
            if effects:
                codes = {CODE_OF[name] for name in re.findall(r"\bP_(\w+)", call[0])}
                codes |= set().union(*(found for name, found in MEANS.items() if name in call[0]))
                yield path, tree.line_of(code, call.start()), effects, codes


answered = {"applied": set(), "unknown": {code for _, code, effect in ROWS if effect == "UNKNOWN"}}
for path, line, effects, codes in calls():
    if not codes:
        lint.finding(path, line, "which code has this effect? Add a row to MEANS")
    for effect in effects:
        answered[effect] |= codes
page = tree.pathlib.Path("docs/retries.md").read_text()
for effect, codes in answered.items():
    rows = list(re.finditer(rf"^\| `{effect}` \|.*", page, re.M))
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])} & set(CODE_OF.values())
    line = tree.line_of(page, rows[0].start())
    for code in sorted(codes - named):
        lint.finding("docs/retries.md", line, f"lacks `{code}`, which can have the effect `{effect}`")
    for code in sorted(named - codes - EXAMPLES[effect]):
        lint.finding("docs/retries.md", line, f"`{code}` never has the effect `{effect}`")
lint.done()
