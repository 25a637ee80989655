#!/usr/bin/env python3
"""Tests the pages by running their commands. Links and paths must exist, each tag of the contract
must have a page with its operations and a link to their fields, the other names of things must lead
to their pages, and generated pages must be current.
tests/test_docs.py BUILD_FOLDER [PAGE...]

Each fenced `console` block of README.md and docs/ is typed as it is, command by command, into one
shell per page, beside its own daemon on a private Redis. Commands are not changed; curl's
configuration sends requests for 127.0.0.1:8379 to that daemon. So values of answers (tokens,
receipts) go through shell variables. The output must be the shown output:

- JSON has the same members, and the same values, except: durations (`*_ms`, `... ms`) may be 2 s or
  a tenth apart; an instant is any instant. Each shown token, receipt, id, version, fence or request
  id is matched with one that was returned, wherever it is shown again.
- Days that no command contains are shifted, all by the same number as the first one that differs,
so that the page's today is the test's today.
- The head of an answer (`curl -i`) must have the shown status line and headers, and may have
others.
- `...` matches anything: members, elements, a value, a part of a text, further headers, or the rest
of the output.
- The output of a background command (`&`) may be shown after a later command. The test waits for it
there, and accepts both orders.

A block that cannot be run follows `<!-- not run: why -->`.

Then each `python` and `js` block is run beside the same daemon, as a program that imports the
client of clients/: it must succeed.

A block that follows `<!-- file: PATH -->` is that file of this repository, and is copied to the
shell's folder. A block that follows `<!-- saved: NAME -->` is saved there under that name, with the
address of the test's daemon. A page that has a push.json is run beside a daemon with
`--push push.json`, in which a free port replaces the port 3000. The shell has this port as PORT.

`patternd` in a command is the tested program. If a command starts it on port 8379, the page's
daemon serves requests for that port. A free port replaces 8443, and curl connects to it for every
name.
"""
import contextlib
import datetime
import glob
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree


from stage import Daemon, free_port, servers
import page_shell
import shown_files
from page_shell import COMMAND_SECONDS, SHOWN_ADDRESS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import other_names  # noqa: E402
import reference  # noqa: E402
from page_sections import (  # noqa: E402
    DOCS,
    INTERNALS,
    NO_PATTERN,
    check_failures,
    check_sections,
    check_settings,
    is_pattern,
    without_code,
)

PAGES = ["*.md", "docs/**/*.md"]
# With PATTERND_TEST_TOPOLOGY=cluster only the commands are run, beside a daemon on a Redis Cluster.
IS_CLUSTER = os.environ.get("PATTERND_TEST_TOPOLOGY") == "cluster"
BACKGROUND_SECONDS = 20
SLACK_MS = 2000
NOBODYS = "00000000"
NOT_RUN = r"(?:^<!-- (?P<reason>(?:not run|file|saved): [^\n]+) -->\n\s*)?"
BLOCK = re.compile(NOT_RUN + r"^```console\n(?P<text>.*?)^```$", re.M | re.S)
PROGRAM = re.compile(NOT_RUN + r"^```(?P<language>python|js)\n(?P<text>.*?)^```$", re.M | re.S)
INTERPRETERS = {"python": [sys.executable, "-B", "-"], "js": ["node", "--input-type=module", "-"]}
# A message's id or a fence, alone or in a receipt (with its check) or version; a claim; the id of a
# feed's item; a token; a request id; an instant; a duration; a day.
MADE = r"(?<![\w.])(?:\d{16}(?:[.-][0-9a-f]{8,16}){0,2}|\d{13}\.[0-9a-f]{16}|\d{13}-\d+|[0-9a-f]{32}|[0-9a-f]{8}-\d+)(?![\w])"
INSTANT = r"(?<![\w.])\d{13}(?![\w.])"
DURATION = r"(?<![\w.])\d+(?= ms\b)"
DAY = r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])"
VARIES = re.compile(f"({MADE}|{INSTANT}|{DURATION}|{DAY})")
# The sections of a pattern's page, in this order.
GLOSSARY = DOCS / "glossary.md"
OTHER_NAMES = pathlib.Path("tests/other_names.json")
# Commands and options that readers of Redis tutorials look for.
COMMANDS = (
    "SET GET SETNX SETEX GETSET MSET MGET APPEND DEL INCR INCRBY DECR EXPIRE TTL PERSIST KEYS SCAN RENAME SORT "
    "MIGRATE DUMP RESTORE OBJECT DEBUG HSET HGET HDEL HGETALL HINCRBY HSCAN LPUSH RPOP BRPOP BLPOP RPOPLPUSH "
    "BLMOVE LRANGE LTRIM LREM SADD SREM SMEMBERS SISMEMBER SCARD SPOP SRANDMEMBER SINTER SUNION SDIFF "
    "SINTERSTORE SUNIONSTORE SDIFFSTORE SSCAN ZADD ZINCRBY ZRANGE ZREVRANGE ZRANK ZSCORE ZCOUNT ZRANGEBYSCORE "
    "ZREMRANGEBYSCORE ZUNIONSTORE ZINTERSTORE ZPOPMIN GEOADD GEOPOS GEODIST GEOHASH GEORADIUS "
    "GEORADIUSBYMEMBER GEOSEARCH WITHHASH STORE PFADD PFCOUNT PFMERGE SETBIT GETBIT BITCOUNT BITPOS BITOP "
    "BITFIELD BF.ADD BF.EXISTS CL.THROTTLE PUBLISH SUBSCRIBE PSUBSCRIBE PUBSUB XADD XREAD XREADGROUP XACK "
    "XCLAIM XGROUP XRANGE MULTI EXEC WATCH EVAL WAIT INFO MONITOR SLOWLOG CONFIG SELECT FLUSHALL"
).split()


class Differs(Exception):
    """The output differs from the shown one."""


# ---- Shown and actual output


def with_ellipses(text):
    """JSON in which `...` matches members, elements or a value: as a member or a string
    '...'.
    """
    out, stack, at = [], [], 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|\.\.\.|[{\[}\],]', text):
        out.append(text[at : token.start()])
        at = token.end()
        word = token.group()
        if word in "{[":
            stack.append(word)
        elif word in "}]" and stack:
            stack.pop()
        if word == "...":
            before = "".join(out).rstrip()[-1:]
            word = '"...": 0' if stack[-1:] == ["{"] and before in "{," else '"..."'
        out.append(word)
        if not stack and word in ("}", "]"):
            break  # the document ends here
    return "".join(out) + text[at:]


class Text:
    """Lines and JSON documents, taken from the front."""

    def __init__(self, text):
        self.rest = text.replace("\r\n", "\n").lstrip()

    def line(self):
        line, _, rest = self.rest.partition("\n")
        self.rest = rest.lstrip()
        return " ".join(line.split())

    def head(self):
        head, rest = (re.split(r"\n(?:\.\.\.)?\n", self.rest, maxsplit=1) + [""])[:2]
        self.rest = rest.lstrip()
        return [" ".join(line.split()) for line in head.split("\n")]

    def drop(self, lead):
        """Removes `lead` from the front. Returns whether it was there."""
        found = self.rest.startswith(lead)
        self.rest = self.rest[len(lead) :] if found else self.rest
        return found

    def is_json(self):
        return self.rest[:1] in ("{", "[")

    def document(self):
        self.rest = with_ellipses(self.rest)
        document, end = json.JSONDecoder().raw_decode(self.rest)
        self.rest = self.rest[end:].lstrip()
        return document


def are_near(shown_ms, came_ms):
    return abs(shown_ms - came_ms) < max(SLACK_MS, shown_ms // 10)


class Session:
    """The state of a page: which shown id matches which returned one, how many days its days are
    shifted, and which days were typed.
    """

    def __init__(self):
        self.made = {}
        self.shift = None
        self.typed = set()

    def day(self, shown):
        try:
            return (datetime.date.fromisoformat(shown) + datetime.timedelta(days=self.shift or 0)).isoformat()
        except ValueError:
            return shown

    def type(self, command):
        """Checks that a command contains no value that a daemon made: a reader would get another
        value.
        """
        for word in re.findall(MADE, command):
            if NOBODYS not in word:
                raise Differs(
                    f"{word} differs in each run: use a variable; an id that does not exist contains {NOBODYS}"
                )
        self.typed |= set(re.findall(DAY, command))

    def same(self, shown, came, where):
        """Compares a value that varies, as text."""
        if re.fullmatch(MADE, shown) and re.fullmatch(MADE, came):
            ok = self.made.setdefault(shown, came) == came
        elif shown in self.typed:
            ok = shown == came
        elif re.fullmatch(DAY, shown) and re.fullmatch(DAY, came):
            if self.shift is None and shown != came:
                self.shift = (datetime.date.fromisoformat(came) - datetime.date.fromisoformat(shown)).days
            ok = self.day(shown) == came
        elif re.fullmatch(INSTANT, shown):
            ok = bool(re.fullmatch(INSTANT, came))
        else:
            ok = shown.isdigit() and came.isdigit() and are_near(int(shown), int(came))
        if not ok:
            raise Differs(f"{where}: {came}, not {shown}")

    def texts(self, shown, came, where):
        fixed = VARIES.split(shown)
        pattern = "".join(
            re.escape(part).replace(r"\.\.\.", ".*") if i % 2 == 0 else r"([\w.-]+?)" for i, part in enumerate(fixed)
        )
        found = re.fullmatch(pattern, came, re.S)
        if not found:
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        for part, value in zip(fixed[1::2], found.groups()):
            self.same(part, value, where)

    def numbers(self, shown, came, where):
        is_duration = where.endswith("_ms") and shown >= 0 and came >= 0 and are_near(shown, came)
        if isinstance(shown, int) and shown >= 10**12 and isinstance(came, int):
            self.same(str(shown), str(came), where)
        elif shown != came and not is_duration:
            raise Differs(f"{where}: {came}, not {shown}")

    def values(self, shown, came, where="answer"):
        if shown == "...":
            return
        kinds = {int: "number", float: "number"}
        if kinds.get(type(shown), type(shown)) != kinds.get(type(came), type(came)):
            raise Differs(f"{where}: {came!r}, not {shown!r}")
        if isinstance(shown, dict):
            self.objects(shown, came, where)
        elif isinstance(shown, list):
            is_open = shown[-1:] == ["..."]
            shown = shown[:-1] if is_open else shown
            if len(came) < len(shown) or (len(came) > len(shown) and not is_open):
                raise Differs(f"{where}: {len(came)} elements, not {len(shown)}: {came}")
            for i, (a, b) in enumerate(zip(shown, came)):
                self.values(a, b, f"{where}[{i}]")
        elif isinstance(shown, str):
            self.texts(shown, came, where)
        elif isinstance(shown, bool) or shown is None:
            if shown is not came:
                raise Differs(f"{where}: {came}, not {shown}")
        else:
            self.numbers(shown, came, where)

    def objects(self, shown, came, where):
        missing = shown.keys() - came.keys() - {"..."}
        more = came.keys() - shown.keys() if "..." not in shown else set()
        if missing or more:
            raise Differs(f"{where}: lacks {sorted(missing)}, has {sorted(more)} that is not shown")
        for key in shown.keys() - {"..."}:
            self.values(shown[key], came[key], f"{where}.{key}")

    def heads(self, shown, came):
        self.texts(shown[0], came[0], "status line")
        for line in shown[1:]:
            name, _, value = line.partition(": ")
            values = [c.partition(": ")[2] for c in came[1:] if c.partition(": ")[0].lower() == name.lower()]
            if not values:
                raise Differs(f"there is no header {name}")
            self.texts(value, values[0], name)

    def outputs(self, shown, came):
        shown, came = Text(shown), Text(came)
        while shown.rest:
            if shown.rest.strip() == "...":
                return
            if shown.rest.startswith("HTTP/") and came.rest.startswith("HTTP/"):
                self.heads(shown.head(), came.head())
            elif shown.drop("data: ") and not came.drop("data: "):
                raise Differs(f"came: {came.rest!r}")
            elif shown.is_json() and came.is_json():
                self.values(shown.document(), came.document())
            else:
                self.texts(shown.line(), came.line(), "line")
        if came.rest:
            raise Differs(f"came, and is not shown: {came.rest!r}")


# ---- Sessions


def is_whole(command):
    """True when a shell would run it as it is."""
    document = re.search(r"<<'?(\w+)'?", command)
    if document:
        return command.endswith("\n" + document[1])
    try:
        shlex.split(command, comments=True)
        return not command.endswith("\\")
    except ValueError:  # a quotation is open
        return False


def commands(text):
    """[command, shown output] of a block."""
    found = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif found and not found[-1][1] and not is_whole(found[-1][0]):
            found[-1][0] += "\n" + line
        elif found:
            found[-1][1] += line + "\n"
    return found


def compare(session, shell, shown, came):
    """Waits until the output is as shown, with or without output of the background."""
    deadline = time.monotonic() + BACKGROUND_SECONDS
    while True:
        more = shell.more()
        for whole, taken in ((came + more, len(more)), (more + came, len(more)), (came, 0)):
            made, shift = dict(session.made), session.shift
            try:
                session.outputs(shown, whole)
                shell.seen += taken
                return
            except (Differs, ValueError) as difference:
                fault = difference
                session.made, session.shift = made, shift  # a failed attempt leaves no matches
        if not shell.jobs or time.monotonic() > deadline:
            raise fault
        time.sleep(0.02)


def run_block(session, shell, text, place):
    """The findings of one block. The first finding ends the block, because later commands depend on
    earlier ones.
    """
    for shown, output in commands(text):
        try:
            session.type(shown)
            came = shell.run(shown)
        except (Differs, page_shell.HasEnded, BrokenPipeError) as fault:
            return [f"{place}: $ {shown}\n  {fault}"]
        try:
            compare(session, shell, output, came)
        except (Differs, ValueError) as fault:
            return [f"{place}: $ {shown}\n  {fault}\n  came: {came.strip()}"]
    return []


def run_programs(folder, address, page, text):
    """The findings of a page's programs."""
    for block in PROGRAM.finditer(text):
        if block["reason"]:
            continue
        done = subprocess.run(
            INTERPRETERS[block["language"]],
            input=block["text"].replace(SHOWN_ADDRESS, address),
            env=os.environ
            | {
                "PATH": f"{folder}/.bin:{os.environ['PATH']}",
                "PYTHONPATH": str(pathlib.Path("clients/python").resolve()),
            },
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        if done.returncode != 0:
            yield f"{page}:{text.count(chr(10), 0, block.start()) + 1}: {done.stdout}{done.stderr}"


def run_page(program, page):
    """The findings of a page's sessions and programs, and how many commands were run."""
    text = page.read_text()
    findings, count = [], 0
    if not BLOCK.search(text) and not PROGRAM.search(text):
        return findings, count
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        options = ("--redis-timeout-ms", "10000", *shown_files.put(folder, text, port))
        redis = stack.enter_context(servers(program.parent, "cluster"))[0] if IS_CLUSTER else None
        daemon = stack.enter_context(Daemon(program, *options, redis=redis))
        shown_files.lead(folder, text, SHOWN_ADDRESS, f"127.0.0.1:{daemon.port}")
        pathlib.Path(folder, "node_modules").mkdir()
        pathlib.Path(folder, "node_modules/patternd").symlink_to(pathlib.Path("clients/javascript").resolve())
        session = Session()
        shell = page_shell.Shell(folder, program, daemon.port, port)
        try:
            for block in BLOCK.finditer(text):
                if shell.bash.returncode is not None:
                    shell = page_shell.Shell(folder, program, daemon.port, port)
                if not block["reason"]:
                    findings += run_block(
                        session, shell, block["text"], f"{page}:{text.count(chr(10), 0, block.start('text')) + 1}"
                    )
                    count += len(commands(block["text"]))
        finally:
            shell.kill()
        findings += run_programs(folder, f"127.0.0.1:{daemon.port}", page, text)
    return findings, count


def sessions(program, page):
    """Runs a page, and runs it again if it failed and midnight passed during the run."""
    while True:
        day = datetime.datetime.now(datetime.timezone.utc).date()
        findings, count = run_page(program, page)
        if not findings or day == datetime.datetime.now(datetime.timezone.utc).date():
            return findings, count


# ---- Links, paths, tags, sections


def anchors(page):
    """Anchors of headings, as GitHub makes them."""
    seen = {}
    for heading in re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        yield slug if seen[slug] == 0 else f"{slug}-{seen[slug]}"


def check_links(page):
    text = without_code(page.read_text())
    for link in re.finditer(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link[1].partition("#")
        line = text.count("\n", 0, link.start()) + 1
        if re.match(r"[a-z]+:", target):
            continue
        path = page.parent / target if target else page
        if not path.exists():
            yield f"{page}:{line}: {target} is not there"
        elif anchor and anchor not in anchors(path):
            yield f"{page}:{line}: {link[1]} has no such heading"
        elif path.suffix == ".svg":
            xml.etree.ElementTree.parse(path)


def check_paths(page):
    text = page.read_text()
    for word in re.finditer(r"(?<![\w/.-])((?:lua|service|handlers|tests|tools)/[\w./*-]*[\w*])", text):
        if pathlib.Path(word[1]).stem != "x" and not any(pathlib.Path().glob(word[1])):
            yield f"{page}:{text.count(chr(10), 0, word.start()) + 1}: {word[1]} is not there"


def check_operations(page, paths):
    """`METHOD /path` is an operation of the contract."""
    text = without_code(page.read_text())
    known = [
        (re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(path)), {method.upper() for method in of})
        for path, of in paths.items()
    ]
    for word in re.finditer(r"`(GET|PUT|POST|PATCH|DELETE) (/[^\s`?]*)", text):
        if not any(word[1] in methods and re.fullmatch(path, word[2]) for path, methods in known):
            yield f"{page}:{text.count(chr(10), 0, word.start()) + 1}: {word[1]} {word[2]} is no operation"


def names(page, path):
    """Whether the page names this path of the contract, as it is or with values for its parameters.
    A longer path is another path.
    """
    path = re.sub(r"\\\{[^}]+\\\}", r"[^/\\s`]+", re.escape(path))
    return re.search(rf"(?:(?<=:8379)|(?<![\w/}}]))/{path[1:]}(?![\w/{{-])", page.read_text())


def check_other_names(page):
    """The first lines of a page have the names that docs/glossary.md gives the whole page. Each
    name of the page in tests/other_names.json is in its first lines, or in a row of the glossary
    that links a part of it.
    """
    place = str(page.relative_to("docs"))
    whole = {name for link, names in other_names.rows() if link == place for name in names}
    parts = {name for link, names in other_names.rows() if link.startswith(f"{place}#") for name in names}
    first = re.sub(r"\s*\n", " ", page.read_text().partition("\n## ")[0])
    line = re.search(r"(?<= Also called: )[^.]+(?=\.)", first)
    shown = set(line[0].split(", ")) if line else set()
    if is_pattern(page) and not whole:
        yield f"{page}: docs/glossary.md has no row of its other names: add one that links {place}"
    for name in sorted(shown ^ whole):
        lacking, having = (page, GLOSSARY) if name in whole else (GLOSSARY, page)
        where = "the line 'Also called: ...' before its first section" if name in whole else f"its row that links {place}"
        yield f"{lacking}: lacks '{name}', which {having} has: add it to {where}"
    findable = "\n".join([first, *whole, *parts]).lower()
    for name in json.loads(OTHER_NAMES.read_text()).get(str(page), []):
        if name.lower() not in findable:
            yield f"{page}: is not to be found as '{name}': add the name to its row of {GLOSSARY}"


def check_glossary(page):
    """The pages of tests/other_names.json exist."""
    for place in json.loads(OTHER_NAMES.read_text()):
        if not pathlib.Path(place).exists():
            yield f"{OTHER_NAMES}: {place} is not there"


def check_tags(page, paths):
    """The page of a tag names each path of the tag."""
    told = reference.pages_of_tags()
    for path in sorted(
        {
            path
            for path, of in paths.items()
            for operation in of.values()
            for tag in operation["tags"]
            if told.get(tag) == page.name
        }
    ):
        if not names(page, path):
            yield f"{page}: does not name {path}: add it in backquotes, or a command that requests it"


def check_index(page):
    """Each tag of the contract has a row with its page, and each page of docs/ is linked from
    another page.
    """
    tags, told = {tag["name"] for tag in reference.read_contract()["tags"]}, reference.pages_of_tags()
    for tag in sorted(tags ^ told.keys()):
        yield f"{page}: the tag {tag} of openapi/root.yaml needs a row here with its page" if tag in tags else f"{page}: {tag} is no tag of openapi/root.yaml"
    linked = set()
    for other in page.parent.glob("**/*.md"):
        targets = re.findall(r"\]\(([^)#\s]+\.md)", other.read_text())
        linked |= {(other.parent / target).resolve() for target in targets} - {other.resolve()}
    for other in sorted(page.parent.glob("**/*.md")):
        if other != page and other.resolve() not in linked:
            yield f"{other}: no page links it"


def check_generated(page):
    """The page equals the output of tools/reference.py."""
    if page.read_text() != reference.PAGES[str(page)]():
        yield f"{page}: is not of today's contract and pages: run tools/reference.py"


def check_metrics(page, program):
    """The page has each metric of a daemon, and may have metrics that only other options expose."""
    with Daemon(program) as daemon:
        url = f"http://127.0.0.1:{daemon.port}/metrics"
        text = urllib.request.urlopen(url, timeout=COMMAND_SECONDS).read().decode()
    for name, words in re.findall(r"^# HELP (\S+) (.*)$", text, re.M):
        if not re.search(rf"^\| `{name}` \| \w+ \| {re.escape(words)} \|$", page.read_text(), re.M):
            yield f"{page}: has no {name}, or other words for it: correct metrics() of tools/reference.py"


def check_kinds(page):
    """Each kind of key has a row, which is generated from its page in docs/internals/."""
    kinds = pathlib.Path("handlers/common/key_kinds.h").read_text()
    for kind in re.findall(r'^#define KEY_\w+\s+"(\w+)"', kinds, re.M):
        if f"`p:{kind}:{{" not in page.read_text():
            yield f"{page}: has no key p:{kind}:{{...}}: add it to the section 'Keys in Redis' of its page in {INTERNALS}"


def check_commands(page):
    """Each pattern has rows of the Redis commands that it replaces, and each of COMMANDS is in a
    row.
    """
    words = set(re.findall(r"[A-Z][A-Z.]+", " ".join(re.findall(r"`([^`\n]+)`", page.read_text()))))
    for command in sorted(set(COMMANDS) - words):
        yield f"{page}: lacks `{command}`: add the endpoint that replaces it, or what to do instead to 'Not here'"
    for tag, other in reference.pages_of_tags().items():
        if f"({other})" not in page.read_text() and other not in NO_PATTERN:
            yield f"{page}: does not link {other}: add the Redis commands that {tag} replace"


def check_runbook(page):
    """The runbook has each code of a 5xx that an operator can get."""
    errors = pathlib.Path("service/request/errors.def").read_text()
    for code, status in re.findall(r'^PROBLEM\(\w+, "(\w+)", (50[034]),', errors, re.M):
        if not re.search(rf"^\| [^|]*{status} [^|]*`{code}`", page.read_text(), re.M):
            yield f"{page}: has no row for {status} `{code}`: add it to the runbook"


OF_ONE_PAGE = {
    "README.md": check_index,
    "from-redis-commands.md": check_commands,
    "glossary.md": check_glossary,
    "operate.md": check_runbook,
    "queues.md": check_settings,
    "redis-keys.md": check_kinds,
}


def main():
    program = pathlib.Path(sys.argv[1], "patternd").resolve()
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    # The contract as the build has bundled it, because reading this takes a tenth of the time.
    paths = json.loads((program.parent / "generated/openapi.json").read_text())["paths"]
    findings, count = [], 0
    for page in map(pathlib.Path, sys.argv[2:] or sorted(p for top in PAGES for p in glob.glob(top, recursive=True))):
        found, ran = sessions(program, page)
        count += ran
        if IS_CLUSTER:
            findings += found
            continue
        findings += [*found, *check_links(page), *check_paths(page), *shown_files.check(page)]
        if page.name == "README.md" or page.parts[0] == "docs":
            findings += check_operations(page, paths)
        findings += check_generated(page) if str(page) in reference.PAGES else []
        findings += check_other_names(page) if DOCS in page.parents else []
        findings += [*check_sections(page), *check_failures(page)]
        if page.parent.name == "docs":
            findings += check_tags(page, paths)
        for name, check in OF_ONE_PAGE.items():
            findings += check(page) if page == pathlib.Path("docs", name) else []
        findings += check_metrics(page, program) if str(page) == "docs/metrics.md" else []
    print("\n".join(findings) or f"{count} commands answered as shown")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
