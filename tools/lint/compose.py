#!/usr/bin/env python3
"""Lint: docker/compose.yaml is a Compose file by the schema of the Compose specification, which
dclint carries; a misspelt key is a finding. dclint's own rules are about style and are not used.
"""
import json
import pathlib

import jsonschema
import yaml

import npm
import tree

FILE = pathlib.Path("docker/compose.yaml")

lint = tree.Lint("Correct the key or the value. https://docs.docker.com/reference/compose-file/ describes them.")
npm.fetch(npm.ANY)
schema = json.loads((npm.MODULES / "dclint/schemas/compose.schema.json").read_text())
text = FILE.read_text()
root = yaml.compose(text)


def line_of(path):
    """The line of the innermost value on the path."""
    node = root
    for part in path:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[part]
        else:
            node = next(value for key, value in node.value if key.value == str(part))
    return node.start_mark.line + 1


for error in jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(text)):
    error = jsonschema.exceptions.best_match([error])
    lint.finding(FILE, line_of(error.absolute_path), f"/{'/'.join(map(str, error.absolute_path))}: {error.message}")
lint.done()
