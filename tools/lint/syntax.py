#!/usr/bin/env python3
"""Lint: shell scripts and Python parse (bash -n; compiled in memory, so that nothing is left
behind).
"""
import re
import subprocess

import tree

lint = tree.Lint("Correct the syntax. The rule: a first line that names a shell or Python, tools/lint/syntax.py.")
for path in tree.given():
    with path.open("rb") as file:
        first = file.readline(200)
    is_python = path.suffix == ".py" or re.match(rb"#!.*\bpython", first)
    if is_python:
        try:
            compile(path.read_bytes(), str(path), "exec")
        except SyntaxError as error:
            lint.finding(path, error.lineno or 1, error.msg)
    elif tree.is_shell(path):
        result = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
        for line in result.stderr.splitlines() if result.returncode else []:
            where = re.match(r"[^:]+: line (\d+): (.*)", line)
            lint.finding(path, where.group(1) if where else 1, where.group(2) if where else line)
lint.done()
