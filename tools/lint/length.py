#!/usr/bin/env python3
"""Lint: in the daemon a function has at most 46 lines and a file 450; in tests 60 and 680.

Comments and blank lines count, too. A function counts from its first line to its closing brace. A
lone brace in the first column opens a function and another closes it, which is how the formatter
leaves C.
"""
import re

import tree

FUNCTION_LINES = {"service": 46, "handlers": 46, "tests": 60}
FILE_LINES = {"service": 450, "handlers": 450, "tests": 680}
NAME = re.compile(r"(\w+)\s*\(")


def functions(lines):
    """(name, first line, last line) of each, counted from 0."""
    start = None
    for at, line in enumerate(lines):
        if line.rstrip() == "{":
            start = at
            while (
                start > 0
                and re.match(r"[\w\s*(]", lines[start - 1])
                and lines[start - 1].strip()
                and not lines[start - 1].rstrip().endswith((";", "}"))
            ):
                start -= 1
        elif line.startswith("}") and start is not None:
            name = NAME.search(" ".join(lines[start:at]))
            yield name.group(1) if name else "?", start, at
            start = None


lint = tree.Lint("Split it by what it does. The rule: FUNCTION_LINES and FILE_LINES of tools/lint/length.py.")
for folder, most in FILE_LINES.items():
    for path in tree.given(folder, ".c", ".h", ".def", ".py"):
        text = path.read_text()
        lines = tree.code_of(text).split("\n") if path.suffix != ".py" else []
        count = text.count("\n")
        if count > most:
            lint.finding(path, most + 1, f"the file has {count} lines, {most} at most")
        for name, first, last in functions(lines):
            if last - first + 1 > FUNCTION_LINES[folder]:
                lint.finding(path, first + 1, f"{name} has {last - first + 1} lines, {FUNCTION_LINES[folder]} at most")
lint.done()
