#!/usr/bin/env python3
"""Lint: files have no notes to self, no paths of one machine, no trailing blanks, no misplaced
tabs, and a newline at the end.
"""
import re

import tree

FORBIDDEN = [
    (re.compile(r"\b(?:TO[D]O|FIX[M]E|X{3})\b"), "a note to self: do it, or open an issue"),
    (re.compile(r"(?<![\w.>}~)-])/(?:work|root|home)/\w"), "a path of one machine"),
    (re.compile(r"[ \t\r]+$"), "blanks at the end of the line"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"), "a conflict that was not settled"),
]
WITHOUT_TABS = {".lua", ".yaml", ".yml", ".json", ".py"}

lint = tree.Lint("Do what the finding says. The rule: FORBIDDEN and WITHOUT_TABS of tools/lint/texts.py.")
for path in tree.given():
    data = path.read_bytes()
    if b"\0" in data or not data:
        continue
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        lint.finding(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8")
        continue
    if not text.endswith("\n"):
        lint.finding(path, text.count("\n") + 1, "no newline at the end of the file")
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                lint.finding(path, number, what)
        if path.suffix in WITHOUT_TABS and "\t" in line:
            lint.finding(path, number, "a tab")
lint.done()
