"""Writes docs/errors.md for tools/reference.py: a heading for each code of
service/request/errors.def, with an example from the contract.
"""
import re
import textwrap

from reference_examples import compact, phrase, wrapped_json
from reference_fields import Tables, anchor, one_line, resolved

MALFORMED = (400, 405, 406, 413, 414, 415, 417, 422, 431)
# The groups of codes, by what a client does: (heading, text, whether a status and a retry belong to
# the group).
GROUPS = (
    (
        "Fix the request",
        "A retry of the same request fails the same way. Nothing was changed.",
        lambda status, retry: status in MALFORMED or retry == "path",
    ),
    (
        "Use another token, host or origin",
        "The daemon refused the caller, not what was asked. Nothing was changed.",
        lambda status, retry: status in (401, 403) and retry == "never",
    ),
    (
        "Wait, then try again",
        "The state does not allow the request now, and it can change. Wait as long as `Retry-After` and "
        "`retry_after_ms` state. A request that takes `wait_ms` can wait in the daemon instead.",
        lambda status, retry: status < 500 and retry == "after_delay",
    ),
    (
        "Read the state, then decide again",
        "The state does not allow the request, and waiting does not help. If the code is about a lock, permit, "
        "delivery, claim or ticket that was lost, stop the work that relies on it.",
        lambda status, retry: status in (404, 409, 410, 412) and retry == "never",
    ),
    (
        "Redis or the daemon is unavailable",
        "Repeat the request after `Retry-After`. Nothing was done, unless `effect` is `unknown`.",
        lambda status, retry: status == 503,
    ),
    (
        "The daemon or Redis failed",
        "If `effect` is `unknown`, the change may have happened. [Did it happen?](retries.md#did-it-happen) has the cases.",
        lambda status, retry: status in (500, 504),
    ),
)
RETRIES = {
    "never": "it fails the same way",
    "after_delay": "it may succeed later, after `Retry-After` if the answer has one",
    "same_key": "the change may have happened. Repeat it with the same `Idempotency-Key`, or if doing it twice does no "
    "harm",
}


def examples_of(contract):
    """{code: the first example of the problem in the contract}. The example of a 404 is from a GET,
    because a GET of many kinds returns 200 where a DELETE returns 404.
    """
    found = {}

    def walk(node):
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
            walk(inner)
        if isinstance(node, dict) and isinstance(node.get("code"), str) and isinstance(node.get("request_id"), str):
            found.setdefault(node["code"], node)

    for item in contract["paths"].values():
        if "404" in item.get("get", {}).get("responses", {}):
            walk(resolved(contract, item["get"]["responses"]["404"])[1])
    walk(contract)
    return found


def objects_of(contract, pages):
    """{code: [(object, its page)]} of the problems that have further members."""
    tables, found = Tables(contract), {}
    for item in contract["paths"].values():
        for operation in (o for o in item.values() if isinstance(o, dict) and "operationId" in o):
            for node in operation["responses"].values():
                content = resolved(contract, node)[1].get("content", {}).get("application/problem+json")
                for name, one in tables.own_problems(content["schema"]) if content else []:
                    code = tables.members(one)["code"][0]
                    for value in [code["const"]] if "const" in code else code.get("enum", []):
                        found.setdefault(value, {}).setdefault(name, pages[operation["tags"][0]])
    return found


def link(code):
    return f"[`{code}`](#{code})"


def section(row, example, objects):
    code, status, effect, retry, title, words = row
    out = [f"### {code}", "", f"{status} {phrase(status)} · {title}", ""]
    out += [*textwrap.wrap(words, 100, break_long_words=False, break_on_hyphens=False), ""]
    line = f"Effect: `{effect}`. Retry: `{retry}`."
    for name, page in objects.items():
        line += f" Further members: [{name}](reference/{page}#{anchor(name)})."
    out += [*textwrap.wrap(line, 100, break_long_words=False, break_on_hyphens=False), ""]
    return [*out, "```json", *wrapped_json(compact(example)), "```", ""]


def group_of(code, status, retry):
    kind = "path" if code == "unknown_path" else retry
    return next(at for at, (_, _, belongs) in enumerate(GROUPS) if belongs(int(status), kind))


def page(contract, rows, made, pages):
    examples, objects = examples_of(contract), objects_of(contract, pages)
    rows = sorted(rows, key=lambda row: (group_of(row[0], row[1], row[3]), row[1], row[0]))
    tables, common = Tables(contract), contract["components"]["responses"]["Problem"]
    out = ["# Errors", "", made]
    out += [
        "Each code has a heading here, with its cause, the remedy and an example. `GET /problems/{code}`",
        "returns the same from a daemon. [Retries](retries.md) explains what a program does with them.",
        "",
        "| what to do | status | codes |",
        "|---|---|---|",
    ]
    for at, (heading, _, _) in enumerate(GROUPS):
        mine = [row for row in rows if group_of(row[0], row[1], row[3]) == at]
        shown = f"[{heading}](#{anchor(heading)})"
        for status in dict.fromkeys(row[1] for row in mine):
            codes = ", ".join(link(row[0]) for row in mine if row[1] == status)
            out.append(f"| {shown} | {status} | {codes} |")
            shown = ""
    problem = contract["components"]["schemas"]["Problem"]
    out += ["", "## Members", "", *textwrap.wrap(one_line(problem["description"]), 100), ""]
    out += [*tables.fields(problem, False), ""]
    out += textwrap.wrap(
        "The `effect` of a code below is the usual one; the effect of a problem may differ. `retry` states when to "
        "send the same request again:", 100)
    out += [""]
    for name, words in RETRIES.items():
        out += [*textwrap.wrap(f"- `{name}`: {words}.", 100, subsequent_indent="  ")]
    out += [""]
    out += [line for line in tables.objects() if line != "## Objects"]
    shared = set(common["x-codes"] + common["x-rare-codes"])
    out += ["", "## Codes of every operation", ""]
    out += textwrap.wrap(
        "Each operation lists its own codes in the [reference](reference.md). Besides these, any operation can return "
        "the following codes.", 100)
    out += ["", "| status | codes |", "|---|---|"]
    for status in sorted({row[1] for row in rows if row[0] in shared}):
        out.append(f"| {status} | {', '.join(link(row[0]) for row in rows if row[1] == status and row[0] in shared)} |")
    for at, (heading, words, _) in enumerate(GROUPS):
        out += ["", f"## {heading}", "", *textwrap.wrap(words, 100, break_long_words=False), ""]
        for row in (r for r in rows if group_of(r[0], r[1], r[3]) == at):
            out += section(row, examples[row[0]], objects.get(row[0], {}))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n"

