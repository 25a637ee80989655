#!/usr/bin/env python3
"""Lint: ShellCheck has no finding in any shell script."""
import json
import shutil
import subprocess
import sys

import tree

lint = tree.Lint(
    "Correct the script as https://www.shellcheck.net/wiki/ describes for the number, or write "
    "`# shellcheck disable=SC... # the reason` above the line."
)
if not shutil.which("shellcheck"):
    print("shellcheck.py: skipped, there is no shellcheck")
    sys.exit(77)
# A script that another one reads (`. file`) is looked for beside it.
command = ["shellcheck", "--format=json", "--external-sources", "--check-sourced", "--source-path=SCRIPTDIR", "--"]
# A changed script may be read by others.
scripts = list(filter(tree.is_shell, tree.files()))
if not any(path in scripts for path in tree.given()):
    lint.done()
ran = subprocess.run([*command, *scripts], capture_output=True, text=True)
if ran.returncode not in (0, 1):
    sys.exit(f"shellcheck failed: {ran.stderr}")
for found in json.loads(ran.stdout):
    lint.finding(found["file"], found["line"], f"{found['message']} (SC{found['code']})")
lint.done()
