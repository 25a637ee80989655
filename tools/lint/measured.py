#!/usr/bin/env python3
"""Lint: one commit was measured. All pages with figures of a run state the same commit."""
import pathlib
import re

import tree

PAGES = ("RELIABILITY.md", "README.md", "docs/benchmarks.md", "docs/deploy/sizing.md", "docs/platforms.md")
COMMIT = r"[0-9a-f]{12}(?:-dirty| with changes)?"
STATED = rf"\b[Cc]ommits?:? ({COMMIT}(?:, {COMMIT})*)"

lint = tree.Lint("Measure one commit, as CONTRIBUTING.md (Benchmarks) has it. The rule: PAGES of tools/lint/measured.py.")
stated = [
    (page, tree.line_of(text, found.start()), commit)
    for page, text in ((page, pathlib.Path(page).read_text()) for page in PAGES)
    for found in re.finditer(STATED, text)
    for commit in found[1].split(", ")
]
for page in set(PAGES) - {page for page, _, _ in stated}:
    lint.finding(page, 1, "no commit, where the one that was measured is wanted")
for page, line, commit in stated:
    if commit != stated[0][2]:
        lint.finding(page, line, f"commit {commit} is not {stated[0][2]} of {stated[0][0]}")
lint.done()
