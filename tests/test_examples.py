#!/usr/bin/env python3
"""Runs the examples of tests/examples: requests, their answers, and what Redis then holds.
tests/test_examples.py BUILD_FOLDER single|cluster|replica FILE[:LINE]...

`single` is one Redis, `cluster` a Cluster, and with `replica` the daemon reads from a replica. LINE
chooses the example that has this line. PATTERND_EXCHANGES names a file that records the answers for
tests/validate_exchanges.py.

    -- A comment.
    # what the example shows                       an example begins; Redis is empty
    PUT /counters/a/fields/b {"value": 1} -> 201   request, body and answer
    POST /counters/a/increment {"counters": {"b": 2}}
      Idempotency-Key: k                           a header
      -> 200 {"name": "a", "counters": {"b": 3}}   the body of the answer
      Content-Type: application/json               a header of the answer
    GET /counters/. -> 400 reserved_name "..."     a problem: its code and detail
    PUT /sales/s {} -> 400 missing_field /stock    the pointer of its first error
    GET /readyz -> 503 redis_unavailable unknown   its effect, unless that is `none`
      Retry-After: -                               this header is absent
    ! HGET p:counter:{a} b -> 3                    a command to Redis, and its reply

- A request without an answer must get 2xx, and a command without a reply no error. `-> soon 200`
repeats the request or the command until what comes is as written.
- JSON is compared as JSON. Outside quotes `...` are other members or elements, or any value, `5..9`
is a number between these, `now+60000` that instant in ms, `recent` one of the last minute, and
`[unordered, 1, 2]` a list in any order. In a text `...` is any text. A problem may have other
members.
- `$at` is a value: the first answer that has it sets it, and later it must be the same, `$at+500`
so much more. A row of a table sets its own. `$long = x * 200` is a text, `$many = "c#": # for 1..9`
a list with each number for `#`.
- `ALL /path` reads all pages of a list; its answer has all items, in any order.
- `! KEYS` names all keys of Redis, without the indexes of names. `''` is an empty body or pointer.
- An indented line that is neither a header nor an answer continues the line above it.
- Lines with `|` repeat the lines above them, up to an empty one, for each row. The first of them
has the names of the columns:

    PUT /counters/post/fields/n $body -> 400 $code /value
    | body           | code          |
    | {"value": 1.5} | wrong_type    |
    | {}             | missing_field |
"""
import json
import pathlib
import re
import shlex
import sys
import time

from example_stage import SOON_SECONDS, Stage
from example_steps import examples_of
from example_values import MARK, Differs, Values, parsed

ERRORS = re.compile(r"(ERR|WRONGTYPE|NOPERM|READONLY|OOM|CROSSSLOT|NOSCRIPT|EXECABORT) ")


class Run:
    """One example, on a stage."""

    def __init__(self, stage):
        self.stage, self.values = stage, Values()
        self.stage.command(["FLUSHALL"])

    def assign(self, text):
        name, _, value = text[1:].partition(" = ")
        times = re.fullmatch(r"(.*) \* (\d+)", value)
        series = re.fullmatch(r"(.*) for (\d+)\.\.(\d+)", value)
        if times:
            value = times.group(1) * int(times.group(2))
        elif series:
            part, first, last = series.groups()
            first, last, step = int(first), int(last), 1 if int(first) <= int(last) else -1
            value = ",".join(part.replace("#", str(i)) for i in range(first, last + step, step))
        self.values.texts[name] = value

    def request(self, step):
        method, target, *body = self.values.filled(step.text).split(" ", 2)
        body = "".join(body).encode() if body else None
        body = b"" if body == b"''" else body
        headers = {name: self.values.filled(value) for name, value in step.headers}
        began = time.time()
        if method == "ALL":
            answer = self.stage.ask_all(target, headers)
        else:
            answer = self.stage.ask(method, target, body, headers)
        self.values.span = (int(began * 1000), int(time.time() * 1000))
        return answer

    def problem(self, words, body, headers):
        """Checks the words of a problem: code, effect, pointer, detail and members."""
        code, _, rest = words.partition(" ")
        effect = re.match(r"(?:none|applied|unknown)(?= |$)", rest)
        rest = rest[effect.end() :].strip() if effect else rest
        wanted = {"type": f"/problems/{code}", "code": code, "effect": effect.group() if effect else "none"}
        wanted |= {"title": f"{MARK}...", "detail": f"{MARK}...", "request_id": headers.get("x-request-id")}
        if rest and rest[0] not in '"{':
            pointer, _, rest = rest.partition(" ")
            first = {"pointer": "" if pointer == "''" else pointer, f"{MARK}...": 0}
            wanted["errors"] = [first, f"{MARK}..."]
        if rest.startswith('"'):
            wanted["detail"], end = json.JSONDecoder().raw_decode(rest)
            rest = rest[end:].strip()
        wanted |= parsed(rest) if rest else {}
        self.values.compare(wanted | {f"{MARK}...": 0}, body, "problem")
        self.values.compare("application/problem+json", headers.get("content-type"), "Content-Type")
        for name in {503: ["retry-after"], 405: ["allow"]}.get(body["status"], []):
            self.values.compare("...", headers.get(name), name)

    def check_answer(self, step, status, headers, body):
        shown = re.sub(r"\$(\w+)", lambda found: self.values.texts.get(found.group(1), found.group()), step.shown or "")
        wanted, _, rest = shown.partition(" ")
        if str(status) != wanted and not (step.shown is None and status // 100 == 2):
            raise Differs(f"status {status}, not {wanted or '2xx'}")
        if rest and status >= 400:
            self.problem(rest, body, headers)
        elif rest:
            wanted = parsed(rest)
            if step.text.startswith("ALL "):
                wanted.insert(0, f"{MARK}unordered")
            self.values.compare(wanted, body, "answer")
        for name, value in step.shown_headers:
            self.values.compare(None if value == "-" else value, headers.get(name.lower()), name)

    def check_reply(self, step, reply):
        if step.shown is None:
            if ERRORS.match(str(reply)):
                raise Differs(reply)
            return
        wanted = self.values.filled(step.shown)
        if isinstance(reply, list):
            self.values.compare(json.loads(wanted), [str(one) for one in reply], "reply")
        else:
            self.values.compare(wanted, "null" if reply is None else str(reply), "reply")

    def step(self, step):
        until = time.monotonic() + SOON_SECONDS * step.soon
        came = None
        while True:
            try:
                if step.text.startswith("$"):
                    self.assign(step.text)
                elif step.text.startswith("!"):
                    came = self.stage.command(shlex.split(self.values.filled(step.text[1:])))
                    self.check_reply(step, came)
                else:
                    status, headers, body = came = self.request(step)
                    self.check_answer(step, status, headers, body)
                return None
            except Differs as flaw:
                if time.monotonic() > until:
                    shown = step.shown or "success"
                    told = [str(flaw), step.text, f"expected: {shown}", f"came:     {said(came)}"]
                    return "\n  ".join(line[:600] for line in told)
            time.sleep(0.01)

    def unused(self, steps):
        """A value that is set and never compared is a misspelt one."""
        names = re.findall(r"\$(\w+)", " ".join(str(line) for step in steps for line in step.lines()))
        return [name for name in set(names) if names.count(name) == 1]


def said(came):
    """An answer or a reply, for a message."""
    if isinstance(came, tuple):
        status, _, body = came
        return f"{status} {body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)}"
    return str(came)


def flaw_of(stage, path, steps):
    run = Run(stage)
    for name in run.unused(steps):
        return f"{path}:{steps[0].number}: ${name} is there only once"
    row, before = None, {}
    for step in steps:
        if step.row != row:  # the values of a row are its own
            run.values.named = before if row else run.values.named
            row, before = step.row, dict(run.values.named)
        flaw = run.step(step)
        if flaw:
            return f"{path}:{step.number}: {flaw}"
    return None


def main(build, topology, given):
    passed, failures = 0, []
    stage = Stage(build, topology)
    with stage.exits:
        for name in given:
            path, _, chosen = name.partition(":")
            for title, lines, steps in examples_of(pathlib.Path(path)):
                if not chosen or int(chosen) in lines:
                    flaw = flaw_of(stage, path, steps)
                    passed += not flaw
                    failures += [f"FAILED: {title}\n{flaw}"] * bool(flaw)
    print(*failures, f"{passed} passed, {len(failures)} failed", sep="\n")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
