#!/usr/bin/env python3
"""Lint: tests/PROMISES.md names tests that exist: `file`, `file: function` or, in tests/examples,
`file: title`, below tests/ or from the top of the tree.
"""
import pathlib
import re

import tree

PAGE = pathlib.Path("tests/PROMISES.md")
NAMED = re.compile(r"`([\w/]+(?:\.\w+)*)(?:: (\w[\w ,]*))?`")

lint = tree.Lint(
    "Name the test that holds the promise now, as `file`, `file: function` or `file: title`. The rule: NAMED of tools/lint/promises.py."
)
text = PAGE.read_text()
by_name = {path.name: path for path in tree.files("tests", ".c", ".py")}
for named in NAMED.finditer(text):
    name, test = named.groups()
    if "." not in name and "/" not in name:
        continue  # a metric, an option
    path = next(
        (p for p in (by_name.get(name), pathlib.Path("tests", name), pathlib.Path(name)) if p and p.exists()), None
    )
    if not path:
        lint.finding(PAGE, tree.line_of(text, named.start()), f"{name} is not there")
    elif test and not re.search(rf"^# {test}$" if path.suffix == ".txt" else rf"\b{test}\b", path.read_text(), re.M):
        lint.finding(PAGE, tree.line_of(text, named.start()), f"{path} has no {test}")
lint.done()
