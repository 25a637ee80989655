#!/usr/bin/env python3
"""Fence: the stripped program of the release build stays below 400 KiB.

Asked of Debian 12's compiler for x86-64 only: others make other sizes. The release build is brought up to date first.
"""
import pathlib
import subprocess
import sys
import tempfile

import tree

LIMIT = 400 * 1024
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
run("cmake", "--build", "--preset", "release", "--target", "patternd")
with tempfile.TemporaryDirectory() as folder:
    stripped = pathlib.Path(folder, "patternd")
    run("strip", "-o", str(stripped), "build/patternd")
    size = stripped.stat().st_size
fence = tree.Fence()
if size > LIMIT:
    fence.finding("build/patternd", 1, f"has {size} bytes when stripped, {size - LIMIT} more than it may")
fence.done()
