#!/usr/bin/env python3
"""Lint: comments and the prose of pages have at most 100 columns, code at most 120.

In C a line is a comment when nothing else is on it; in Markdown prose is what is no table, no code
and no heading. A line that is a single word, as a long link, cannot break and passes. Code may reach
160 where that is the text of literals: a text in one piece is found by searching for it.
"""
import re

import tree

PROSE, CODE, WITH_TEXT, TAB = 100, 120, 160, 8
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"')
NO_PROSE = re.compile(r"^```.*?^```$|^(?: {4}|\t)[^\n]*$|^\|[^\n]*$|^#[^\n]*$|^<!--.*?-->$", re.M | re.S)

lint = tree.Lint("Wrap comments at 100 columns, code at 120. The rule: PROSE and CODE of tools/lint/width.py.")
for path in tree.files("service", ".c", ".h", ".def") + tree.files("handlers", ".c", ".h"):
    text = path.read_text()
    for number, (line, code) in enumerate(zip(text.split("\n"), tree.code_of(text).split("\n")), 1):
        width = len(line.expandtabs(TAB))
        has_text = len(LITERAL.sub("", line)) <= CODE / 2
        most = PROSE if not code.strip() else WITH_TEXT if has_text else CODE
        if width > most and " " in line.strip().lstrip("/* "):
            lint.finding(path, number, f"{width} columns; {'code' if code.strip() else 'a comment'} has at most {most}")
for path in (p for p in tree.files(".", ".md") if p.name != "RELIABILITY.md"):  # whose paragraphs are made
    text = path.read_text()
    for number, line in enumerate(NO_PROSE.sub(lambda m: tree.blank(m.group()), text).split("\n"), 1):
        if len(line.rstrip()) > PROSE and " " in line.strip().lstrip("-* "):
            lint.finding(path, number, f"{len(line.rstrip())} columns; prose has at most {PROSE}")
lint.done()
