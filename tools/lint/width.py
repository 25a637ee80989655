#!/usr/bin/env python3
"""Lint: comments and prose have at most 100 columns, code at most 120.

A line is a comment when nothing else is on it; docstrings are comments, too. Prose is Markdown
outside of tables and code. A line that is one word, as a long link, cannot break and passes. Code
may reach 160 where that is the text of literals: a text in one piece is found by searching for it.
"""
import ast
import re

import tree

PROSE, CODE, WITH_TEXT, TAB = 100, 120, 160, 8
LITERAL = re.compile(r"""\"(?:\\.|[^"\\])*\"|'(?:\\.|[^'\\])*'""")
MARKS = {".lua": "--", ".py": "#", ".sh": "#", ".cmake": "#"}
C_LIKE = {".c", ".h", ".def", ".js", ".mjs", ".ts"}
SHEBANG = re.compile(r"#!.*\b(python|bash|sh)")
VERBATIM = re.compile(r"\s*(?:\||<|#|\[[^]]+\]:)")


def kind_of(path, text):
    if path.name in {"CMakeLists.txt", "Makefile"}:
        return ".cmake"
    if path.suffix in MARKS or path.suffix in C_LIKE or path.suffix == ".md":
        return path.suffix
    found = SHEBANG.match(text)
    return (".py" if found.group(1) == "python" else ".sh") if found else None


def docstrings(text):
    """The numbers of their lines, from 0."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            found |= set(range(node.body[0].lineno - 1, node.body[0].end_lineno))
    return found


def prose_of_markdown(lines):
    """The numbers of lines outside of tables, fences and indented code, from 0."""
    found, fence, after_blank, in_code, in_list = set(), None, True, False, False
    for number, line in enumerate(lines):
        mark = re.match(r"\s*(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})", line)
        in_list = bool(re.match(r"\s*(?:[-*+]|\d+[.)]) ", line)) or in_list and (not line or line.startswith("  "))
        in_code = line.startswith("    ") and (after_blank or in_code) and not in_list
        if mark and fence in (None, mark.group(1)):
            fence = None if fence else mark.group(1)
        elif not fence and not in_code and not VERBATIM.match(line):
            found.add(number)
        after_blank = not line
    return found


def comment_lines(kind, text, lines):
    """The numbers of the lines that are only comment or prose, from 0."""
    if kind == ".md":
        return prose_of_markdown(lines)
    if kind in C_LIKE:
        return {number for number, code in enumerate(tree.code_of(text).split("\n")) if not code.strip()}
    found = {number for number, line in enumerate(lines) if line.lstrip().startswith(MARKS[kind])}
    return found | docstrings(text) if kind == ".py" else found


lint = tree.Lint(
    "Wrap comments and prose at 100 columns, code at 120. The rule: PROSE and CODE of tools/lint/width.py."
)
for path in tree.files():
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        continue
    kind = kind_of(path, text)
    lines = [line.expandtabs(TAB) for line in text.split("\n")]
    if not kind or max(map(len, lines)) <= PROSE:
        continue
    comments = comment_lines(kind, text, lines)
    for number, line in enumerate(lines):
        has_text = len(LITERAL.sub("", line)) <= CODE / 2
        most = PROSE if number in comments else WITH_TEXT if has_text else CODE
        if len(line) > most and (number in comments or kind != ".md") and " " in line.strip().lstrip("/*#- "):
            what = "a comment" if number in comments else "code"
            lint.finding(path, number + 1, f"{len(line)} columns; {what} has at most {most}")
lint.done()
