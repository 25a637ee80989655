#!/usr/bin/env python3
"""Lint: comments and the prose of pages have at most 100 columns, code at most 120.

A line is a comment when nothing else is on it; so is a line of a docstring. In Markdown, tables,
code, headings and the figures that `make bench` writes are not prose. A line that is a single word,
as a long link, cannot break and passes. Code may have 160 columns if a literal makes it longer,
because a search finds only a text in one piece. In YAML the text of a block (`|`) is served or run
as it is, and is not checked.
"""
import re

import tree

PROSE, CODE, WITH_TEXT, TAB = 100, 120, 160, 8
GENERATED = {"openapi.yaml"}
C, LUA, PYTHON, YAML = r"/\*.*?\*/|//[^\n]*", r"--[^\n]*", r'#[^\n]*|^ *""".*?"""', r"(?<!\S)#[^\n]*"
COMMENTS = {".c": C, ".h": C, ".def": C, ".js": C, ".mjs": C, ".ts": C, ".lua": LUA, ".py": PYTHON}
COMMENTS |= {".yaml": YAML, ".yml": YAML}
YAML_BLOCK = re.compile(r"(?<=[ ]\|\n)( +)\S[^\n]*\n(?:\1[^\n]*\n|\n)*")
LITERAL = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\\n])*`'
NO_PROSE = re.compile(
    r"^<!-- bench: written.*?^<!-- bench: end -->$|^```.*?^```$|^(?: {4}|\t)[^\n]*$|^\|[^\n]*$|^#[^\n]*$|^<!--.*?-->$",
    re.M | re.S,
)


def check_code(path, text, comment):
    if comment == YAML:
        text = YAML_BLOCK.sub(lambda m: tree.blank(m.group()), text)
    parts = re.compile(f'(?P<comment>{comment})|""".*?"""|{LITERAL}', re.M | re.S)
    code = parts.sub(lambda m: tree.blank(m.group()) if m["comment"] else m.group(), text)
    for number, (line, code) in enumerate(zip(text.split("\n"), code.split("\n")), 1):
        width = len(line.expandtabs(TAB))
        has_text = len(re.sub(LITERAL, "", code)) <= CODE / 2
        most = PROSE if not code.strip() else WITH_TEXT if has_text else CODE
        if width > most and " " in line.strip().lstrip("/*#- "):
            lint.finding(path, number, f"{width} columns; {'code' if code.strip() else 'a comment'} has at most {most}")


def check_page(path, text):
    for number, line in enumerate(NO_PROSE.sub(lambda m: tree.blank(m.group()), text).split("\n"), 1):
        if len(line.rstrip()) > PROSE and " " in line.strip().lstrip("-* "):
            lint.finding(path, number, f"{len(line.rstrip())} columns; prose has at most {PROSE}")


lint = tree.Lint("Wrap comments at 100 columns, code at 120. The rule: PROSE and CODE of tools/lint/width.py.")
for path in tree.given():
    if path.suffix == ".md" and path.name != "RELIABILITY.md":  # whose paragraphs are generated
        check_page(path, path.read_text())
    elif path.suffix in COMMENTS and str(path) not in GENERATED:
        check_code(path, path.read_text(), COMMENTS[path.suffix])
    elif path.suffix == "" and path.read_bytes().startswith(b"#!/usr/bin/env python3"):
        check_code(path, path.read_text(), PYTHON)
lint.done()
