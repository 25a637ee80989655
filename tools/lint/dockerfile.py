#!/usr/bin/env python3
"""Lint: docker/Dockerfile has no finding by dockerfile-utils, which knows the instructions, their
flags and their arguments.
"""
import json
import pathlib
import subprocess
import sys

import npm
import tree

FILE = pathlib.Path("docker/Dockerfile")

lint = tree.Lint("Correct the instruction. https://docs.docker.com/reference/dockerfile/ describes it.")
npm.fetch(npm.ANY)
ran = subprocess.run(
    [npm.MODULES / ".bin/dockerfile-utils", "lint", "--json", FILE], capture_output=True, text=True
)
try:
    found = json.loads(ran.stdout)
except json.JSONDecodeError:
    sys.exit(f"{FILE}:1: dockerfile-utils failed: {ran.stdout}{ran.stderr}")
for one in found:
    lint.finding(FILE, one["range"]["start"]["line"] + 1, one["message"])
lint.done()
