#!/usr/bin/env python3
"""Lint: lua/ follows the rules for scripts. Numbers are converted to text by format(), because
Lua's own conversion cuts instants to 14 digits. Every key is one of KEYS. The contract is the first
comment, and code that reads a reply uses the names that the script declares.
"""
import re

import tree

LITERAL = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
COMMENT_OR_LITERAL = re.compile(r"--[^\n]*|" + LITERAL)
JOINED = r"(?<!\.)\.\.(?!\.)"
NUMBER = r"(?:now\b|tonumber\b|math\.|#|\d|(?:\w+\.)*\w+_(?:ms|at|count)\b)"
RULES = [
    (re.compile(r"\btostring\b"), "tostring cuts numbers to 14 digits: format('%d') or format('%.0f')"),
    (re.compile(r"\bcjson\.encode\b"), "cjson.encode cuts numbers to 14 digits: return them apart, or as text"),
    (
        re.compile(JOINED + r"\s*" + NUMBER),
        ".. cuts the number behind it to 14 digits: format('%d') or format('%.0f')",
    ),
    (
        re.compile(
            r"(?<![\w.])(?:now|\d+|(?:\w+\.)*\w+_(?:ms|at|count)|tonumber\([^()]*\)|math\.\w+\([^()]*\))\s*" + JOINED
        ),
        ".. cuts the number before it to 14 digits: format('%d') or format('%.0f')",
    ),
    (re.compile(r"\bKEYS\[[^]]*\]\s*" + JOINED), "a key is built here: every key is declared in KEYS"),
]
POSITION = re.compile(r"\b(?:reply|item)_(?:int|real|text|item)\((?:[^(),;]|\([^()]*\))*,[^(),;]*\b(?<!\[)\d+\)")
CALL = re.compile(r"\bredis\.p?call\(")
# Kinds whose names are known only from an index of names (docs/adr/0021-index-of-names.md).
LED_BY_AN_INDEX = {"lua/lib/made.lua", "lua/names/name_page.lua"}


def code_of(text):
    """Lua with comments and the inside of literals blanked."""

    def hide(match):
        found = match.group()
        return tree.blank(found) if found.startswith("--") else found[0] + tree.blank(found[1:-1]) + found[-1]

    return COMMENT_OR_LITERAL.sub(hide, text)


def arguments(code, at):
    """The arguments of a call whose opening bracket is just before `at`."""
    depth, start = 0, at
    for i in range(at, len(code)):
        if depth == 0 and code[i] in ",)":
            yield code[start:i].strip()
            start = i + 1
            if code[i] == ")":
                return
        depth += (code[i] in "([{") - (code[i] in ")]}")


lint = tree.Lint("lua/counters/counter_get.lua keeps all the rules. They are: RULES of tools/lint/scripts.py.")
for path in tree.given("lua", ".lua"):
    text = path.read_text()
    code = code_of(text)
    contract = re.match(r"(?:--[^\n]+\n)*", text).group()
    if path.parent.name != "lib" and not path.stem.startswith("lib_"):
        wanted = [f"-- {path.stem}:", "KEYS", "--@reply"] + ["ARGV"] * ("ARGV" in code)
        for missing in (word for word in wanted if word not in contract):
            lint.finding(path, 1, f"the contract, its first comment, has no '{missing}'")
    elif not contract:
        lint.finding(path, 1, "a module opens with a comment that says what it is")
    for rule, what in RULES:
        for found in rule.finditer(code):
            lint.finding(path, tree.line_of(code, found.start()), what)
    for call in CALL.finditer(code):
        key = (list(arguments(code, call.end())) + ["", ""])[1]
        if str(path) not in LED_BY_AN_INDEX and (re.search(JOINED, key) or key.startswith(("'", '"'))):
            lint.finding(path, tree.line_of(code, call.start()), "a key is built here: every key is declared in KEYS")
for path in tree.given("handlers", ".c", ".h") + tree.given("service/call", ".c") + tree.given("tests/scripts", ".c"):
    code = tree.code_of(path.read_text())
    for found in POSITION.finditer(code):
        lint.finding(path, tree.line_of(code, found.start()), "a position in a reply: take its name from scripts.h")
lint.done()
