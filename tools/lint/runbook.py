#!/usr/bin/env python3
"""Lint: the runbook of docs/operate.md has each kind of finding in its column `symptom`."""
import pathlib
import re

import yaml

import tree

CONTRACT, RUNBOOK = pathlib.Path("openapi/daemon.yaml"), pathlib.Path("docs/operate.md")

lint = tree.Lint(f"Name the kind, as finding `kind`, in the first column of the runbook of {RUNBOOK}.")

text = CONTRACT.read_text()
kinds = yaml.safe_load(text)["components"]["schemas"]["OverviewFindingKind"]["enum"]
rows = re.search(r"^\| symptom \|.*?\n\n", RUNBOOK.read_text(), re.M | re.S).group()
symptoms = "".join(row.split(" | ")[0] for row in rows.splitlines())
for kind in kinds:
    if f"`{kind}`" not in symptoms:
        lint.finding(CONTRACT, tree.line_of(text, text.index(f"- {kind}\n")), f"{kind}: no row of the runbook names it")
lint.done()
