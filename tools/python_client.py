#!/usr/bin/env python3
"""tools/python_client.py [--check]: makes modules of clients/python/patternd/_threads of modules
of _aio, or lists which are not up to date. The other modules of both folders are written by hand.
"""
import pathlib
import re
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "clients/python/patternd"
MODULES = ("client", "queue", "streams", "transport")
RULES = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"__a(enter|exit|iter)__", r"__\1__"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync(Generator|Iterator)\b", r"\1"),
    (r"\bUnion\[(\w+), Awaitable\[\1\]\]", r"\1"),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\basyncio\b", "threading"),
)


def imports(lines):
    """Sorts modules, and names of typing; leaves out what the rules made needless or doubled."""
    body = "".join(line for line in lines if "import " not in line)
    plain = sorted(line for line in lines if line.startswith("import "))
    for line in lines:
        if line.startswith("import "):
            yield plain.pop(0)
        elif line.startswith("from typing import "):
            names = {n for n in re.findall(r"\w+", line.partition("import")[2]) if re.search(rf"\b{n}\b", body)}
            yield "from typing import " + ", ".join(sorted(names, key=str.lower)) + "\n"
        else:
            yield line


def made(name):
    text = (PACKAGE / "_aio" / f"{name}.py").read_text()
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return f"# Made of _aio/{name}.py by tools/python_client.py.\n" + "".join(imports(text.splitlines(keepends=True)))


def main():
    stale = [name for name in MODULES if (PACKAGE / "_threads" / f"{name}.py").read_text() != made(name)]
    if sys.argv[1:] == ["--check"]:
        listed = [f"clients/python/patternd/_threads/{name}.py is stale: run {sys.argv[0]}" for name in stale]
        sys.exit("\n".join(listed) or None)
    for name in stale:
        (PACKAGE / "_threads" / f"{name}.py").write_text(made(name))


main()
