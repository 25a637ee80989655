#!/usr/bin/env python3
"""Fence: what an object of the daemon exports, another of its objects uses. Tests do not count: what only they call is
tested through what the daemon calls. And what a header declares is there.

Asks nm about the objects of the release build, which is brought up to date first. Another build folder may be named.
"""
import pathlib
import re
import subprocess
import sys

import tree

ENTRY_POINTS = {"main"}
PROTOTYPE = re.compile(r"^(?!static|typedef)\w[\w\s*]*?\b(\w+)\((?:[^(){};]|\([^{};]*?\))*\)\s*(?:__attribute__[^;]*)?;", re.M)


def run(*command):
    """What the command says; ends the fence when it fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"exports: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def symbols(build):
    """{symbol: the source file that defines it}, and the symbols that another object than their own uses."""
    defined, used = {}, set()
    for target in ("daemon", "patternd", "scripts", "operations"):
        for path in sorted((build / "CMakeFiles" / f"{target}.dir").rglob("*.o")):
            source = re.sub(r".*\.dir/|\.o$", "", str(path))
            if not pathlib.Path(source).exists() and "generated" not in source:
                continue  # an object of a file that has gone
            for line in run("nm", str(path)).splitlines():
                kind, name = line.split()[-2:]
                if kind == "U":
                    used.add(name)
                elif kind.isupper():
                    defined[name] = source
    return defined, used


def where(source, name):
    """The line of the definition."""
    text = tree.code_of(pathlib.Path(source).read_text())
    found = re.search(rf"^(?!static)\w[^\n;]*\b{name}\b", text, re.M)
    return tree.line_of(text, found.start()) if found else 1


if len(sys.argv) > 1:
    build = pathlib.Path(sys.argv[1])
else:
    build = pathlib.Path("build")
    run("cmake", "--preset", "release")
    run("cmake", "--build", "--preset", "release", "--target", "patternd")
fence = tree.Fence()
defined, used = symbols(build)
if not defined:
    sys.exit(f"{build}:1: has no objects")
for name, source in sorted(defined.items(), key=lambda item: (item[1], item[0])):
    ours = source.split("/")[0] in ("service", "handlers")
    if ours and name not in ENTRY_POINTS and name not in used:
        fence.finding(source, where(source, name), f"{name} is used by no other file: make it static, or delete it")
for path in tree.files("service", ".h") + tree.files("handlers", ".h"):
    code = tree.code_of(path.read_text())
    for prototype in PROTOTYPE.finditer(code):
        if prototype.group(1) not in defined:
            fence.finding(path, tree.line_of(code, prototype.start()), f"{prototype.group(1)} is declared, but defined nowhere")
fence.done()
