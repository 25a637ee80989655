#!/usr/bin/env python3
"""Fence: ARCHITECTURE.md names the files that there are.

A file is named by its path (`service/route.c`) anywhere, or by its name alone (`route.c`) in backticks. Each file of
service/, handlers/ and lua/lib/ is named; a header by its .c file too. Whatever is named exists: in the tree, or made by the
build from what is there.
"""
import pathlib
import re

import tree

PAGE = pathlib.Path("ARCHITECTURE.md")
ENDINGS = r"(?:c|h|def|lua|py|in|yaml|json|txt|sh|md)"
BY_PATH = re.compile(r"(?<![\w/.<-])((?:[\w.-]+/)+[\w-]+(?:\.[\w-]+)*\." + ENDINGS + r")\b(?![/.]\w)")
BY_NAME = re.compile(r"`([\w-]+(?:\.[\w-]+)*\." + ENDINGS + r")`")
GENERATED = {"operations.c", "operations.h", "scripts.c", "scripts.h", "web_assets.c", "version.h", "openapi.json"}
SYSTEM = re.compile(r"^[ \t]*#include <([^>]+)>", re.M)


def told_of():
    """The files that the page must name."""
    found = tree.files("service", ".c", ".h", ".def", ".in") + tree.files("handlers", ".c", ".h") + tree.files("lua/lib", ".lua")
    return [p for p in found if p.suffix != ".h" or not p.with_suffix(".c").exists()]


fence = tree.Fence()
text = PAGE.read_text() if PAGE.exists() else ""
if not text:
    fence.finding(PAGE, 1, "is missing")
everything = tree.files()
names = {p.name for p in everything} | GENERATED
system = {h for p in everything if p.suffix in (".c", ".h") for h in SYSTEM.findall(p.read_text())}
paths, bare = set(), set()
for pattern, seen in ((BY_PATH, paths), (BY_NAME, bare)):
    for word in pattern.finditer(text):
        name = word.group(1)
        seen.add(name)
        is_example = pathlib.Path(name).stem == "x"
        there = is_example or pathlib.Path(name).exists() or name.startswith("build/") or name in system
        if not (there or seen is bare and name in names):
            fence.finding(PAGE, tree.line_of(text, word.start()), f"{name} is named, but is not there")
for path in told_of() if text else []:
    if str(path) not in paths and path.name not in bare:
        fence.finding(PAGE, 1, f"{path} is not named")
fence.done()
