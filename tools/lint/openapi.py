#!/usr/bin/env python3
"""Lint: openapi.yaml has no finding by Redocly's recommended rules nor by Spectral's, none switched
off.

A finding names the file and line in openapi/ that cause it.
"""
import json
import os
import pathlib
import subprocess
import sys

import npm
import tree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import contract  # noqa: E402

FILE = "openapi.yaml"


def place(document, path):
    """file:line of the innermost mapping on the given path of the document."""
    at = f"{FILE}:1"
    for part in path:
        at = getattr(document, "at", None) or at
        document = document[int(part) if isinstance(document, list) else part] if document else None
    return getattr(document, "at", None) or at


def findings():
    """The findings of both linters: (path in the document, text)."""
    environment = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    for program, *options in (
        ("redocly", "lint", "--format=json", "--max-problems=1000", "--extends=recommended", FILE),
        ("spectral", "lint", "--format=json", "--quiet", "--ruleset=tools/lint/spectral.yaml", FILE),
    ):
        run = subprocess.run(
            [HERE / "node_modules/.bin" / program, *options], capture_output=True, text=True, env=environment
        )
        try:
            said = json.loads(run.stdout or "[]")
        except json.JSONDecodeError:
            said = None
        if said is None or run.returncode not in (0, 1) or run.returncode and not said:
            sys.exit(f"{FILE}:1: {program} failed: {run.stdout}{run.stderr}")
        for problem in said["problems"] if program == "redocly" else said:
            pointer = problem["location"][0].get("pointer", "#/").removeprefix("#/") if program == "redocly" else None
            path = (
                problem["path"]
                if pointer is None
                else [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/") if p]
            )
            yield path, f"{problem['message']} ({program}: {problem.get('ruleId') or problem['code']})"


lint = tree.Lint(
    "Correct the contract below openapi/, then run tools/reference.py. redocly.com/docs/cli/rules and "
    "meta.stoplight.io/docs/spectral describe the rule in brackets."
)
npm.fetch(npm.REDOCLY)
try:
    document = contract.load()
except contract.Wrong as wrong:
    lint.finding(*(wrong.at or "openapi/root.yaml:1").rsplit(":", 1), wrong)
    lint.done()
for path, what in findings():
    file, _, line = place(document, path).partition(":")
    lint.finding(file, line, what)
lint.done()
