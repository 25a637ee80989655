#!/usr/bin/env python3
"""Fence: the stripped program of the release build stays below 400 KiB without the pages /ui and /docs, and below 1 MiB with them.

Asked of Debian 12's compiler for x86-64 only: others make other sizes. The release build is brought up to date first.
"""
import pathlib
import subprocess
import sys
import tempfile

import tree

LIMITS = {"patternd_without_web": 400 * 1024, "patternd": 1024 * 1024}
COMPILER = ("x86_64-linux-gnu", "12")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"size: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


compiler = (run("gcc", "-dumpmachine").strip(), run("gcc", "-dumpversion").strip())
if compiler != COMPILER:
    print(f"size: skipped, the limit is one for gcc {COMPILER[1]} on {COMPILER[0]}")
    sys.exit(77)
run("cmake", "--preset", "release")
run("cmake", "--build", "--preset", "release", "--target", *LIMITS)
fence = tree.Fence()
for name, limit in LIMITS.items():
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder, name)
        run("strip", "-o", str(stripped), f"build/{name}")
        size = stripped.stat().st_size
    print(f"size: {name} has {size} bytes when stripped, {limit} at most")
    if size > limit:
        fence.finding(f"build/{name}", 1, f"has {size} bytes when stripped, {size - limit} more than it may")
fence.done()
