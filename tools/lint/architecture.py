#!/usr/bin/env python3
"""Lint: ARCHITECTURE.md names all folders of service/, and only files and folders that exist.

A file is named by its path (`service/contract/route.c`) anywhere, or by its name alone (`route.c`)
in backticks. Each named file exists: it is in the tree, or the build makes it from a file of the
tree. Each folder of service/ has a row.
"""
import pathlib
import re

import tree

PAGE = pathlib.Path("ARCHITECTURE.md")
ENDINGS = r"(?:c|h|def|lua|py|in|yaml|json|txt|sh|md)"
BY_PATH = re.compile(r"(?<![\w/.<-])((?:[\w.-]+/)+[\w-]+(?:\.[\w-]+)*\." + ENDINGS + r")\b(?![/.]\w)")
BY_NAME = re.compile(r"`([\w-]+(?:\.[\w-]+)*\." + ENDINGS + r")`")
TOPS = ("", "service", "handlers", "lua")  # the folders from which a path may start
GENERATED = {"operations.c", "operations.h", "scripts.c", "scripts.h", "web_assets.c", "version.h", "openapi.json"}
SYSTEM = re.compile(r"^[ \t]*#include <([^>]+)>", re.M)


lint = tree.Lint(
    "Correct the name, or describe the folder with a row. The rule: TOPS and GENERATED of tools/lint/architecture.py."
)
text = PAGE.read_text() if PAGE.exists() else ""
if not text:
    lint.finding(PAGE, 1, "is missing")
everything = tree.files()
names = {p.name for p in everything} | GENERATED
system = {h for p in everything if p.suffix in (".c", ".h") for h in SYSTEM.findall(p.read_text())}
paths, bare = set(), set()
for pattern, seen in ((BY_PATH, paths), (BY_NAME, bare)):
    for word in pattern.finditer(text):
        name = word.group(1)
        seen.add(name)
        is_example = pathlib.Path(name).stem == "x"
        there = (
            is_example
            or any(pathlib.Path(top, name).exists() for top in TOPS)
            or name.startswith("build/")
            or name in system
        )
        if not (there or seen is bare and name in names):
            lint.finding(PAGE, tree.line_of(text, word.start()), f"{name} is named, but is not there")
for folder in sorted(p for p in pathlib.Path("service").iterdir() if p.is_dir()):
    if f"| `{folder.name}` |" not in text:
        lint.finding(PAGE, 1, f"{folder} has no row")
lint.done()
