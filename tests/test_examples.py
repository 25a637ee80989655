#!/usr/bin/env python3
"""Runs the examples of tests/examples: requests, their answers, and what Redis then holds.
tests/test_examples.py BUILD_FOLDER single|cluster|replica FILE[:LINE]...

`single` is one Redis, `cluster` a Cluster, and with `replica` the daemon reads from a replica. LINE
chooses the example that has this line. PATTERND_EXCHANGES names a file that records the answers for
tests/validate_exchanges.py.

    -- A comment.
    # what the example shows                        an example begins; Redis is empty
    PUT /counters/a/fields/b {"value": 1} -> 201    a request, with a body, and its answer
    POST /counters/a/increment {"counters": {"b": 2}}
      Idempotency-Key: k                            a header
      -> 200 {"name": "a", "counters": {"b": 3}}    the body of the answer
      Content-Type: application/json                a header of the answer
    GET /counters/. -> 400 reserved_name {name} "..." a problem: code, pointer of its first error, detail
    GET /readyz -> 503 redis_unavailable unknown    the effect is `none`, unless it is named
    ! HGET p:counter:{a} b -> 3                     a command to Redis, and its reply

- A request without an answer must get 2xx, and a command without a reply no error. `-> soon 200`
  repeats the request or the command until what comes is as written.
- JSON is compared as JSON. Outside quotes `...` are other members or elements, or any value, `5..9` a
  number between these, `now+60000` that instant in ms, and `[unordered, 1, 2]` a list in any order.
  In a text `...` is any text. A problem may have other members.
- `$at` is a value: the first answer that has it sets it, and it is the same wherever it is used again.
  `$long = x * 200` is a text, `$many = "c#": # for 1..9` a list with each number for `#`.
- `ALL /path` reads all pages of a list; its answer has all items, in any order.
- `! KEYS` names all keys of Redis, without the indexes of names. `''` is an empty body or pointer.
- An indented line that is neither a header nor an answer continues the line above it.
- Lines with `|` repeat the lines above them, up to an empty one, for each row. The first of them has
  the names of the columns:

    PUT /counters/post/fields/n $body -> 400 $code /value
    | body           | code          |
    | {"value": 1.5} | wrong_type    |
    | {}             | missing_field |
"""
import contextlib
import copy
import http.client
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from stage import Daemon, redis

SOON_SECONDS = 10
SLACK_MS = 20  # between the clock of Redis, which it reads once per command, and this one
HEADER = re.compile(r"\s+([A-Za-z-]+): (.*)")
METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS ALL".split()
MARK = "\ue000"  # begins a text that stands for a bare word of an answer
BARE = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|([{,]\s*)\.\.\.(?=\s*})|(\.\.\.|unordered|\$\w+|now(?:[+-]\d+)?|-?\d+\.\.-?\d+)')
ERRORS = re.compile(r"(ERR|WRONGTYPE|NOPERM|READONLY|OOM|CROSSSLOT|NOSCRIPT|EXECABORT) ")


class Differs(Exception):
    """What came is not what the example has."""


def parsed(text):
    """JSON with bare words, each as a text that begins with MARK."""

    def marked(found):
        quoted, before, word = found.groups()
        return quoted or (f'{before}"{MARK}...": 0' if before else f'"{MARK}{word}"')

    return json.loads(BARE.sub(marked, text))


class Values:
    """The variables of an example, and how values are compared."""

    def __init__(self):
        self.named, self.texts = {}, {}
        self.span = (0, 0)  # when the request began and ended

    def filled(self, text, **others):
        known = self.texts | self.named | others
        return re.sub(r"\$(\w+)", lambda found: str(known.get(found.group(1), found.group())), text)

    def bound(self, name, came, where):
        if self.named.setdefault(name, came) != came:
            raise Differs(f"{where}: {came!r}, not ${name}, which is {self.named[name]!r}")

    def word(self, word, came, where):
        span = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", word)
        if word.startswith("$"):
            return self.bound(word[1:], came, where)
        if word.startswith("now"):
            after = int(word[3:] or 0)
            low, high = self.span[0] + after - SLACK_MS, self.span[1] + after + SLACK_MS
        elif span:
            low, high = map(int, span.groups())
        else:
            return None
        if isinstance(came, bool) or not isinstance(came, (int, float)) or not low <= came <= high:
            raise Differs(f"{where}: {came!r}, not {word}")
        return None

    def text(self, shown, came, where):
        if shown.startswith(MARK):
            return self.word(shown[1:], came, where)
        if re.fullmatch(r"\$\w+", shown) and isinstance(came, str):
            return self.bound(shown[1:], came, where)
        shown = self.filled(shown)
        pattern = ".*".join(map(re.escape, shown.split("..."))) if "..." in shown else None
        if not (re.fullmatch(pattern, came, re.S) if pattern and isinstance(came, str) else shown == came):
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        return None

    def compare(self, shown, came, where):
        if isinstance(shown, str):
            self.text(shown, came, where)
        elif type(shown) is not type(came):
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        elif isinstance(shown, dict):
            is_open = shown.pop(f"{MARK}...", None) is not None
            if shown.keys() - came.keys() or (came.keys() - shown.keys() and not is_open):
                raise Differs(f"{where}: has {', '.join(came) or 'no members'}, not {', '.join(shown)}")
            for key, value in shown.items():
                self.compare(value, came[key], f"{where}.{key}")
        elif isinstance(shown, list):
            self.compare_lists(shown, came, where)
        elif shown != came:
            raise Differs(f"{where}: {came!r}, not {shown!r}")

    def compare_lists(self, shown, came, where):
        any_order = shown[:1] == [f"{MARK}unordered"]
        is_open = shown[-1:] == [f"{MARK}..."]
        shown = shown[any_order : len(shown) - is_open]
        if len(came) < len(shown) or (len(came) > len(shown) and not is_open):
            raise Differs(f"{where}: {len(came)} elements, not {len(shown)}")
        rest = list(came)
        for i, one in enumerate(shown):
            at = next((at for at, other in enumerate(rest) if self.is_alike(one, other)), 0) if any_order else 0
            self.compare(one, rest.pop(at), f"{where}[{i}]")

    def is_alike(self, shown, came):
        before = dict(self.named)
        try:
            self.compare(copy.deepcopy(shown), came, "")
        except Differs:
            self.named = before
            return False
        return True


class Stage:
    """A Redis, a daemon on it and a connection to the daemon."""

    def __init__(self, build, topology):
        self.contract = json.loads(pathlib.Path(build, "generated", "openapi.json").read_text())
        self.exits = contextlib.ExitStack()
        self.servers = self.exits.enter_context(
            subprocess.Popen(
                [f"{build}/tests/redis_servers", topology], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        self.exits.callback(self.servers.stdin.close)
        urls = self.servers.stdout.readline().split()
        self.ports = [int(port) for port in re.findall(r":(\d+)", urls[0])]
        self.replica = int(urls[1].rsplit(":", 1)[1].split("/")[0]) if urls[1:] else None
        options = ["--read-from", "replica", "--max-replica-lag-ms", "60000", "--redis-replicas"]
        options = options + urls[1:] if urls[1:] else []
        daemon = Daemon(os.environ.get("PATTERND_BIN", f"{build}/patternd"), *options, redis=urls[0])
        self.daemon = self.exits.enter_context(daemon)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        self.exits.callback(self.connection.close)
        record = os.environ.get("PATTERND_EXCHANGES") or os.devnull
        until = time.monotonic() + SOON_SECONDS
        while self.replica and "\npatternd_replicas_usable 1" not in self.daemon.ask("GET", "/metrics")[2]:
            assert time.monotonic() < until, "the daemon does not use the replica"
        self.record = self.exits.enter_context(open(record, "w", encoding="utf-8"))

    def operation(self, method, target):
        """The operation of the contract with most literal segments."""
        path, best = target.split("?")[0], (-1, None, {})
        for template, methods in self.contract["paths"].items():
            fits = re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path)
            if fits and method.lower() in methods:
                literal = sum(not part.startswith("{") for part in template.split("/"))
                best = max(best, (literal, template, methods[method.lower()]), key=lambda one: one[0])
        return best[2]

    def command(self, words):
        """Redis's reply. In a Cluster, the owner of the key replies, or all together."""
        verb = words[0].upper()
        if verb in ("FLUSHALL", "KEYS", "CONFIG"):
            replies = [redis(port, *words, *["*"] * (words == ["KEYS"])) for port in self.ports]
            found = [key for reply in replies if verb == "KEYS" for key in reply if ":names:{" not in key]
            return sorted(found) if verb == "KEYS" else replies[0]
        port = self.ports[0]
        while True:
            reply = redis(port, *words)
            moved = re.fullmatch(r"MOVED \d+ .*:(\d+)", str(reply))
            if not moved:
                return reply
            port = int(moved.group(1))

    def wait_for_replica(self):
        """Waits until the replica has all writes, so that it answers as the primary would."""
        had = re.search(r"master_repl_offset:(\d+)", redis(self.ports[0], "INFO", "replication")).group(1)
        until = time.monotonic() + SOON_SECONDS
        while int(re.search(r"slave_repl_offset:(\d+)", redis(self.replica, "INFO", "replication")).group(1)) < int(had):
            if time.monotonic() > until:
                raise Differs("the replica does not catch up")

    def ask(self, method, target, body, headers):
        operation = self.operation(method, target)
        if self.replica and operation.get("x-stale"):
            self.wait_for_replica()
        if body is not None:
            headers = {"Content-Type": "application/json"} | headers
        self.connection.request(method, target, body, headers)
        answer = self.connection.getresponse()
        came = {name.lower(): value for name, value in answer.headers.items()}
        text, kind = answer.read().decode(), came.get("content-type", "")
        if self.replica and operation.get("x-stale") and answer.status == 200 and came.get("patternd-source") != "replica":
            raise Differs("the replica was not asked")
        line = {"operation": operation.get("operationId", ""), "method": method, "target": target}
        line |= {"status": answer.status, "content_type": kind, "headers": came, "body": text}
        self.record.write(json.dumps(line) + "\n")
        return answer.status, came, json.loads(text) if text and "json" in kind else text

    def ask_all(self, target, headers):
        items, more = [], ""
        while True:
            status, came, page = self.ask("GET", target + more, None, headers)
            if status != 200:
                return status, came, page
            items += page["items"]
            if not page["next_cursor"]:
                return status, came, items
            more = f"{'&' if '?' in target else '?'}cursor={page['next_cursor']}"


class Step:
    """A request or a command, and what must come."""

    def __init__(self, number, text):
        self.number, self.text, self.headers = number, text, []
        self.shown, self.shown_headers, self.soon = None, [], False

    def show(self, text):
        self.soon = text.startswith("soon ")
        self.shown = text.removeprefix("soon ")

    def lines(self):
        return [self.text, *self.headers, *(["soon"] if self.soon else []), *filter(None, [self.shown]), *self.shown_headers]


def steps_of(lines):
    """The steps of a paragraph, whose lines have numbers."""
    steps = []
    for number, line in lines:
        header = HEADER.fullmatch(line)
        if line[0] != " " and (line.split()[0] in (*METHODS, "!", "$method") or re.match(r"\$\w+ = ", line)):
            text, arrow, shown = line.partition(" -> ")
            steps.append(Step(number, text))
            if arrow:
                steps[-1].show(shown)
        elif line[0] != " " or not steps:
            raise SystemExit(f"{number}: {line!r} is no line of an example")
        elif line.strip().startswith("-> "):
            steps[-1].show(line.strip()[3:])
        elif header:
            (steps[-1].headers if steps[-1].shown is None else steps[-1].shown_headers).append(header.groups())
        elif steps[-1].shown is not None:
            steps[-1].shown += " " + line.strip()
        else:
            steps[-1].text += " " + line.strip()
    return steps


def with_cells(step, cells):
    """The step with the cells of a row in place of their names."""

    def filled(text):
        return text and re.sub(r"\$(\w+)", lambda found: cells.get(found.group(1), found.group()), text)

    row = Step(step.number, filled(step.text))
    row.headers = [(name, filled(value)) for name, value in step.headers]
    row.shown, row.soon = filled(step.shown), step.soon
    row.shown_headers = [(name, filled(value)) for name, value in step.shown_headers]
    return row


def repeated(steps, rows):
    """The steps once for each row of a table below them."""
    cells = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for _, line in rows]
    for (number, line), row in zip(rows[1:], cells[1:]):
        if len(row) != len(cells[0]):
            raise SystemExit(f"{number}: {line} has {len(row)} cells, not {len(cells[0])}")
        for step in steps:
            step = with_cells(step, dict(zip(cells[0], row)))
            step.number = number
            yield step


def examples_of(path):
    """The title of each example, the lines that it has, and its steps."""
    lines = list(enumerate(path.read_text(encoding="utf-8").split("\n"), 1))
    lines = [(number, line.rstrip()) for number, line in lines if not line.startswith("--")]
    starts = [i for i, (_, line) in enumerate(lines) if line.startswith("# ")]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        steps = []
        for is_empty, group in itertools.groupby(lines[start + 1 : end], lambda one: not one[1]):
            group = [] if is_empty else list(group)
            rows = [one for one in group if one[1].startswith("|")]
            own = steps_of(group[: len(group) - len(rows)])
            steps += repeated(own, rows) if rows else own
        yield lines[start][1][2:], range(lines[start][0], lines[end - 1][0] + 1), steps


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
            self.values.compare(value, headers.get(name.lower()), name)

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
                    return f"{str(flaw)[:600]}\n  {step.text[:300]}\n  expected: {shown[:600]}\n  came:     {said(came)[:600]}"
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
    for step in steps:
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
