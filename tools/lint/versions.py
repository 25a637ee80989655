#!/usr/bin/env python3
"""Lint: one version everywhere: CMakeLists.txt has it, and the contract, the clients and the
Kubernetes examples name the same. A Python package writes 1.0.0-rc2 as 1.0.0rc2 (PEP 440).
"""
import pathlib
import re

import tree

lint = tree.Lint(
    "Set the version of PATTERND_VERSION in CMakeLists.txt there, too. The rule: PLACES of tools/lint/versions.py."
)
PLACES = {
    "openapi/root.yaml": r"^  version: (\S+)$",
    "clients/python/pyproject.toml": r'^version = "(.+)"$',
    "clients/javascript/package.json": r'^  "version": "(.+)",$',
    "docker/kubernetes/standalone/deployment.yaml": r"image: patternd:(\S+)$",
    "docker/kubernetes/standalone/kustomization.yaml": r"newTag: ([^ }]+)",
    "docker/kubernetes/push/deployment.yaml": r"image: patternd:(\S+)$",
    "docker/kubernetes/push/kustomization.yaml": r"newTag: ([^ }]+)",
    "docker/kubernetes/sidecar/deployment.yaml": r"image: patternd:(\S+)$",
    "docker/kubernetes/sidecar/kustomization.yaml": r"newTag: ([^ }]+)",
}
version = re.search(r"^set\(PATTERND_VERSION (\S+?)\)", pathlib.Path("CMakeLists.txt").read_text(), re.M).group(1)
for name, pattern in PLACES.items():
    text = pathlib.Path(name).read_text()
    found = re.search(pattern, text, re.M)
    said = found.group(1) if found else "none"
    wanted = version.replace("-", "") if name.endswith("pyproject.toml") else version
    if said != wanted:
        lint.finding(name, text[: found.start()].count("\n") + 1 if found else 1, f"version {said} is not {wanted}")
lint.done()
