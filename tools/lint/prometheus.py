#!/usr/bin/env python3
"""Lint: the alerts of examples/prometheus are rules, each fires and falls silent when
tests/prometheus_rules.yaml expects, and the section of docs/operate.md that its `runbook` links
names it.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

import tree

RULES = pathlib.Path("examples/prometheus/patternd.rules.yml")
RUNBOOK = pathlib.Path("docs/operate.md")
TESTS = pathlib.Path("tests/prometheus_rules.yaml")

lint = tree.Lint(f"Correct the rule, what {TESTS} expects of it, or the section that its runbook links.")


def section(link):
    """The text of RUNBOOK below the heading that the link names, up to the next heading of that
    level.
    """
    page, _, anchor = link.partition("#")
    for part in re.split(r"^(?=## )", RUNBOOK.read_text(), flags=re.M) if page == str(RUNBOOK) else ():
        heading = part.split("\n", 1)[0].removeprefix("## ")
        if re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") == anchor:
            return part
    return ""


def promtool(*arguments):
    ran = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    if ran.returncode:
        lint.finding(arguments[-1], 1, ran.stdout + ran.stderr)


text, tested = RULES.read_text(), TESTS.read_text()
for rule in (rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]):
    name, runbook = rule["alert"], rule["annotations"].get("runbook", "")
    line = tree.line_of(text, text.index(f"- alert: {name}\n"))
    if f"`{name}`" not in section(runbook):
        lint.finding(RULES, line, f"{name}: {runbook or 'no runbook'} does not name it")
    if f'alertname="{name}"' not in tested:
        lint.finding(RULES, line, f"{name}: {TESTS} does not expect it to fire and to fall silent")
if shutil.which("promtool"):
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(TESTS))
elif not lint.findings:
    print("prometheus.py: skipped, there is no promtool")
    sys.exit(77)
lint.done()
