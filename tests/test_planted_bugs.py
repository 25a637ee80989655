#!/usr/bin/env python3
"""Each bug that the self-tests of chaos, fuzz and soak plant has one place in the source: (file,
old text, new text).
"""
import ast
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
failures = count = 0
for planter in ("tests/chaos/bugs.py", "tests/fuzz/selftest", "tests/soak/selftest"):
    for node in ast.walk(ast.parse((TOP / planter).read_text())):
        texts = [part.value for part in getattr(node, "elts", []) if isinstance(part, ast.Constant)]
        if len(texts) == 3 and str(texts[0]).startswith(("service/", "handlers/", "lua/")):
            path, count = TOP / texts[0], count + 1
            found = path.read_text().count(texts[1]) if path.exists() else 0
            if found != 1:
                failures += 1
                print(f"{planter}:{node.lineno}: {texts[0]} has {found} places with {texts[1]!r}")
print(f"{count} bugs, {failures} failed")
sys.exit(1 if failures or not count else 0)
