#!/usr/bin/env python3
"""Plants faults in the scripts of a pattern, one at a time, and prints which tests catch each: the
tests of scripts, of the API, or of all patterns. Run it before and after tests are removed.

    tests/plant_faults.py BUILD PATTERN [--seed N] [--faults N] [--jobs N] [--save|--compare FILE]

A fault changes an operator or a number, or removes a statement. Scripts and programs are made in a
temporary folder, of the objects in BUILD, so neither the tree nor BUILD changes. Each test is run
as ctest runs it. If the pattern's own tests of the API find nothing, api/test_kinds and
api/test_names run; if these find nothing, faults/test_replays and redis_keys run.

--save keeps what was caught. --compare plants the faults of such a file instead of new ones. It
fails if a fault was caught then and is not caught now, or if the scripts have no fault's line.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TOP / "tools"))

from assemble import TOKEN  # noqa: E402

ALL = "all patterns"
LEVELS = "scripts", "API", ALL, "build"
SECONDS = 60  # after which a test has failed
OBJECT = "CMakeFiles/scripts.dir/generated/scripts.c.o"
OTHERS = {" == ": " ~= ", " ~= ": " == ", " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " + ": " - "}
OTHERS |= {" - ": " + ", " and ": " or ", " or ": " and ", "not": "", "true": "false", "false": "true"}
# Not the number of a key or an argument: the build or the first call refuses it.
NUMBER = r"(?<!KEYS\[)(?<!ARGV\[)\b\d+\b"
PLACE = re.compile("|".join([*(re.escape(o) if o[0] == " " else rf"\b{o}\b" for o in OTHERS), NUMBER]))
STATEMENT = re.compile(r"\s*(?!local\b|return\b|for\b|function\b)[\w.\[\], ]+(?: = .*[^{(,=]|\(.*\))$")
# The line is the text of the file; `again` counts the same lines before it.
Fault = collections.namedtuple("Fault", "file line again change")


def faults_of(file):
    """All faults that a file can get."""
    seen = collections.Counter()
    for line in (TOP / file).read_text().splitlines():
        code = TOKEN.sub(lambda t: " " * len(t[0]) if t[0][0] in "'\"-" else t[0], line)  # the same places
        for place in PLACE.finditer(code):
            other = OTHERS[place[0]] if place[0] in OTHERS else str(int(place[0]) + 1)
            yield Fault(file, line, seen[line], line[: place.start()] + other + line[place.end() :])
        if STATEMENT.match(code.rstrip()):
            yield Fault(file, line, seen[line], "")
        seen[line] += 1


def planted(fault):
    """The text of the file with the fault, or None if its place has gone."""
    lines = (TOP / fault.file).read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line == fault.line + "\n"][fault.again :]
    if not at:
        return None
    lines[at[0]] = fault.change + "\n"
    return "".join(lines)


def tests_of(build):
    """The tests of the build by name. CTest lists them from another folder, because it empties the
    log of the folder where it runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{build.resolve()}")\n')
        listed = subprocess.check_output(["ctest", "--show-only=json-v1"], cwd=folder)
    return {test["name"]: test for test in json.loads(listed)["tests"]}


class Planter:
    def __init__(self, build, pattern):
        self.build, self.tests = build, tests_of(build)
        entries = json.loads((build / "compile_commands.json").read_text())
        (self.compile,) = [shlex.split(e["command"]) for e in entries if e["file"].endswith("/generated/scripts.c")]
        own = [name for name in self.tests if re.search(rf"/(test_)?{pattern}(_|$)", name)]
        api = [name for name in own if name.startswith(("examples/", "api/"))]
        self.levels = {
            "scripts": [name for name in own if name.startswith("scripts/")],
            "API": [*api, "api/test_kinds", "api/test_names"],
            ALL: ["faults/test_replays", "redis_keys"],
        }
        targets = ["patternd", *(name.replace("scripts/", "tests/") for name in self.levels["scripts"])]
        listing = ["ninja", "-t", "commands", *map(os.path.basename, targets)]
        commands = subprocess.check_output(listing, cwd=build, text=True).splitlines()
        self.contract = build / "generated/openapi.json"
        self.links = {target: command for target in targets for command in commands if f" -o {target} " in command}

    def make(self, fault, folder):
        """Makes the programs with the fault. False: the build refuses it."""
        shutil.copytree(TOP / "lua", folder / "lua")
        if fault:
            (folder / fault.file).write_text(planted(fault))
        embed = [sys.executable, "-B", TOP / "tools/embed_scripts.py", folder / "lua", folder]
        if subprocess.run(embed, capture_output=True).returncode:
            return False
        source, made = str(self.build / "generated/scripts.c"), f"{folder}/scripts.o"
        swap = {source: f"{folder}/scripts.c", OBJECT: made, "-flto": "-fno-lto"}
        subprocess.run([swap.get(word, word) for word in self.compile], cwd=self.build, check=True)
        (folder / "openapi.json").symlink_to(self.contract)  # redis_keys loads the scripts beside it
        (folder / "tests").mkdir()
        for target, command in self.links.items():
            command = command.replace(OBJECT, made).replace(f" -o {target} ", f" -o {folder}/{target} ")
            subprocess.run(command.replace("-flto=auto", "-fno-lto"), shell=True, cwd=self.build, check=True)
        return True

    def fails(self, name, folder):
        """Whether a test fails with the programs of the folder."""
        test = self.tests[name]
        set_to = {p["name"]: p["value"] for p in test["properties"]}
        environment = dict(v.split("=", 1) for v in set_to.get("ENVIRONMENT", []))
        made = {str(self.build / target): str(folder / target) for target in self.links}
        made[str(self.contract)] = f"{folder}/openapi.json"
        environment |= {k: made.get(v, v) for k, v in environment.items()}
        environment |= {"PATTERND_EXCHANGES": f"{folder}/exchanges", "PATTERND_ROWS": f"{folder}/rows"}
        environment["PATTERND_BIN"] = f"{folder}/patternd"  # of the examples
        process = subprocess.Popen(
            [made.get(word, word) for word in test["command"]],
            env=os.environ | environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(SECONDS) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    def caught(self, fault, levels=LEVELS):
        """{level: the test that caught the fault, twice: a test may fail because of the load}."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            if not self.make(fault, folder):
                return {"build": "tools/embed_scripts.py"}
            found = {}
            for level in levels:
                names = [] if level == ALL and "API" in found else self.levels.get(level, [])
                failed = next((name for name in names if self.fails(name, folder) and self.fails(name, folder)), None)
                found |= {level: failed} if failed else {}
            return found


def chosen(pattern, seed):
    files = sorted(str(path.relative_to(TOP)) for path in (TOP / "lua" / pattern).rglob("*.lua"))
    faults = [fault for file in files for fault in faults_of(file)]
    random.Random(seed).shuffle(faults)
    return faults


def show(caught, then):
    print(*(f"{level:^12}" for level in LEVELS))
    for fault, found in caught.items():
        marks = (f"{'*' if level in found else '-':^12}" for level in LEVELS)
        lost = "LOST: " if then.get(fault) and not found else ""
        print(*marks, f"{lost}{fault.file}: {fault.line.strip()}  =>  {fault.change.strip() or 'removed'}")
    counts = collections.Counter(" and ".join(filter(found.get, LEVELS)) or "none" for found in caught.values())
    print(f"{len(caught)} faults:", ", ".join(f"{n} by {by}" for by, n in counts.most_common()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("pattern")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--compare", type=pathlib.Path)
    args = parser.parse_args()
    planter = Planter(args.build.resolve(), args.pattern)
    then = {}
    if args.compare:
        then = {Fault(*fault): found for fault, found in json.loads(args.compare.read_text())}
        gone = [fault for fault in then if not planted(fault)]
        faults = [fault for fault in then if fault not in gone]
        for fault in gone:
            print(f"gone: {fault.file}: {fault.line.strip()}")
    else:
        faults = chosen(args.pattern, args.seed)[: args.faults]
    if not faults:
        sys.exit("no fault has a place: choose new ones, and --save them")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        sound = pool.submit(planter.caught, None, LEVELS[:2])
        all_found = list(pool.map(planter.caught, faults))
    sound = sound.result()
    if any(ALL in found for found in all_found):
        sound |= planter.caught(None, [ALL])
    if sound:
        sys.exit(f"without a fault these fail: {', '.join(sound.values())}")
    caught = dict(zip(faults, all_found))
    show(caught, then)
    if args.save:
        args.save.write_text(json.dumps(list(caught.items()), indent=1))
    sys.exit(any(then.get(fault) and not found for fault, found in caught.items()))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # removes the folders
main()
