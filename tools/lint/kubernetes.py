#!/usr/bin/env python3
"""Lint: the objects of docker/kubernetes have the fields that Kubernetes, KEDA and the Prometheus
operator define, with values of their types; none is misspelt or missing.

npm's registry has no JSON schemas of these objects, but types for TypeScript, which are made from
the schemas. Each file is translated into TypeScript, line for line, and the compiler refuses a
field that a type lacks. tools/lint/manifests.py checks kustomizations.
"""
import json
import pathlib
import re
import subprocess
import tempfile

import yaml

import npm
import tree

# The packages of groups that are not Kubernetes's own.
PACKAGES = {
    "keda.sh": "@kubernetes-models/keda",
    "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
}
OPTIONS = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
ERROR = re.compile(r"^(?:.*/)?(\d+)\.ts\((\d+),\d+\): error \w+: (.*(?:\n .*)*)", re.M)

lint = tree.Lint("Correct the field or its value. tools/lint/package.json pins the types.")


class Writer:
    """TypeScript whose lines have the numbers of the lines of YAML."""

    def __init__(self):
        self.lines = [""]

    def put(self, node, text):
        self.lines += [""] * (node.start_mark.line + 1 - len(self.lines))
        self.lines[-1] += text

    def value(self, node):
        if isinstance(node, yaml.MappingNode):
            self.put(node, "{")
            for key, value in node.value:
                self.put(key, json.dumps(key.value) + ":")
                self.value(value)
                self.lines[-1] += ","
            self.lines[-1] += "}"
        elif isinstance(node, yaml.SequenceNode):
            self.put(node, "[")
            for one in node.value:
                self.value(one)
                self.lines[-1] += ","
            self.lines[-1] += "]"
        else:
            self.put(node, json.dumps(yaml.safe_load(yaml.serialize(node)), default=str))

    def document(self, node, number):
        of = {key.value: value.value for key, value in node.value}
        group = of["apiVersion"].rpartition("/")[0]
        if of["kind"] == "Kustomization":
            return
        package = npm.MODULES / PACKAGES.get(group, "kubernetes-models") / of["apiVersion"]
        self.put(node, f"const object{number}: import({json.dumps(str(package))}).I{of['kind']} = ")
        self.value(node)
        self.lines[-1] += ";"


npm.fetch(npm.ANY)
paths = tree.files("docker/kubernetes", ".yaml")
with tempfile.TemporaryDirectory() as folder:
    files = []
    for i, path in enumerate(paths):
        writer = Writer()
        for number, node in enumerate(yaml.compose_all(path.read_text())):
            writer.document(node, number)
        files.append(pathlib.Path(folder, f"{i}.ts"))
        files[-1].write_text("\n".join([*writer.lines, "export {};", ""]))
    ran = subprocess.run([npm.MODULES / ".bin/tsc", *OPTIONS, *files], capture_output=True, text=True)
found = ERROR.findall(ran.stdout)
for number, line, what in found:
    lint.finding(paths[int(number)], line, what)
if ran.returncode and not found:
    lint.finding("docker/kubernetes", 1, ran.stdout + ran.stderr)
lint.done()
