#!/usr/bin/env python3
"""Lint: one version everywhere. CMakeLists.txt has it, and the contract, the clients, the manifests
and the pages that name files of a release have the same.
"""
import pathlib
import re

import tree

lint = tree.Lint(
    "Set the version of PATTERND_VERSION in CMakeLists.txt there, too. The rule: PLACES of tools/lint/versions.py."
)
NAMED = r"(?:patternd[_:-]| v)(\d+\.\d+\.\d+(?:[-~]?rc\d+)?)"  # a file, an image, a tag
PLACES = {
    "openapi/root.yaml": r"^  version: (\S+)$",
    "clients/python/pyproject.toml": r'^version = "(.+)"$',
    "clients/javascript/package.json": r'^  "version": "(.+)",$',
    "docs/install.md": NAMED,
    "packaging/README.md": NAMED,
    **{
        f"docker/kubernetes/{folder}/{file}.yaml": pattern
        for folder in ("standalone", "push", "sidecar")
        for file, pattern in (("deployment", NAMED), ("kustomization", r"newTag: ([^ }]+)"))
    },
}


def plain(version):
    """1.0.0-rc3 as pip has it (PEP 440), and dpkg's 1.0.0~rc3 likewise."""
    return re.sub("[-~]", "", version)


version = re.search(r"^set\(PATTERND_VERSION (\S+?)\)", pathlib.Path("CMakeLists.txt").read_text(), re.M).group(1)
for name, pattern in PLACES.items():
    text = pathlib.Path(name).read_text()
    if not re.search(pattern, text, re.M):
        lint.finding(name, 1, f"no version, where {version} is wanted")
    for found in re.finditer(pattern, text, re.M):
        if plain(found.group(1)) != plain(version):
            lint.finding(name, tree.line_of(text, found.start()), f"version {found.group(1)} is not {version}")
lint.done()
