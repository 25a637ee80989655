#!/usr/bin/env python3
"""Lint: each symbol that an object of the daemon exports is used by another of its objects. Uses by
tests do not count: a function that only tests would call is tested through the functions that the
daemon calls. A header x.h, or x_private.h, declares only what x.c defines or the build generates.

A name begins with its place. In service/, the name of a function begins with the name of its file,
which the name of the folder may precede (http_server_run of http/server.c). Each folder of
handlers/ has its own first words.

It reads the symbols of the release build with nm, and first brings that build up to date. Another
build folder may be named.
"""
import pathlib
import re

import objects
import tree

ENTRY_POINTS = {"main"}
PROTOTYPE = re.compile(
    r"^(?!static|typedef)\w[\w\s*]*?\b(\w+)\((?:[^(){};]|\([^{};]*?\))*\)\s*(?:__attribute__[^;]*)?;", re.M
)


def unit_of(path):
    """x.c, x.h and x_private.h are one."""
    return re.sub(r"_private$", "", str(path.with_suffix("")))


def where(source, name):
    """The line of the definition."""
    text = tree.code_of(pathlib.Path(source).read_text())
    found = re.search(rf"^(?!static)\w[^\n;]*\b{name}\b", text, re.M)
    return tree.line_of(text, found.start()) if found else 1


lint = tree.Lint("What only tests call is tested through its callers. The rules: tools/lint/exports.py.")
found = objects.symbols()
defined = {name: source for source, (names, _) in found.items() for name in names}
used = set().union(*(names for _, names in found.values()))
for name, source in sorted(defined.items(), key=lambda item: (item[1], item[0])):
    ours = source.split("/")[0] in ("service", "handlers")
    if ours and name not in ENTRY_POINTS and name not in used:
        lint.finding(source, where(source, name), f"{name} is used by no other file: make it static, or delete it")
words = {}
for name, source in sorted(defined.items(), key=lambda item: (item[1], item[0])):
    path = pathlib.Path(source)
    if path.parts[0] == "service" and not re.match(rf"({path.parent.name}_)?{path.stem}s?(_|$)", name):
        lint.finding(source, where(source, name), f"{name} does not begin with {path.stem}_, the name of its file")
    elif path.parts[0] == "handlers" and len(path.parts) > 2:
        word = name.partition("_")[0]
        if words.setdefault(word, path.parts[1]) != path.parts[1]:
            lint.finding(source, where(source, name), f"{name} begins with {word}_, as functions of {words[word]} do")
for path in tree.files("service", ".h") + tree.files("handlers", ".h"):
    code = tree.code_of(path.read_text())
    for prototype in PROTOTYPE.finditer(code):
        name, line = prototype.group(1), tree.line_of(code, prototype.start())
        if name not in defined:
            lint.finding(path, line, f"{name} is declared, but defined nowhere")
        elif unit_of(pathlib.Path(defined[name])) != unit_of(path):
            lint.finding(
                path, line, f"{name} is declared, but defined in {defined[name]}: declare it in that file's header"
            )
lint.done()
