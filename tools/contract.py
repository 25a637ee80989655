"""Reads openapi.yaml with the files of openapi/ that it refers to, as one document.

What is served, linted and made into C is this bundle: each path item of another file is put in its
path's place, the components of that file among the root's, each $ref is one of the document itself,
what every operation has (x-every-operation) is in every operation, what comes with an
Idempotency-Key (x-every-idempotent-success) in each 2xx response of an operation that takes one,
and what comes from a replica (x-every-stale-response) in each 2xx and 404 response of one with
x-stale. Each mapping knows its file and line.

tools/contract.py [openapi.yaml] prints the bundle as JSON.
"""
import io
import json
import pathlib
import sys

import yaml

METHODS = ("get", "put", "post", "patch", "delete")


class Wrong(Exception):
    """What is wrong with the contract, and at which file:line, where that is known."""

    def __init__(self, why, at=None):
        super().__init__(why)
        self.at = at


class Node(dict):
    """A mapping of the contract, with its place. A member that is missing is named instead of being
    a KeyError.
    """

    at = None

    def __missing__(self, name):
        raise Wrong(f"{name!r} is missing", self.at)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # in C, where PyYAML was built with it
    def node(self, at):
        made = Node()
        made.at = f"{at.start_mark.name}:{at.start_mark.line + 1}"
        yield made
        made.update(self.construct_mapping(at))


Loader.add_constructor("tag:yaml.org,2002:map", Loader.node)


def read(path, shown):
    try:
        stream = io.StringIO(pathlib.Path(path).read_text())
    except OSError as error:
        raise Wrong(f"{shown}: {error.strerror}") from None
    stream.name = shown  # the loader's marks have it
    loader = Loader(stream)
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        raise Wrong(error.problem, f"{shown}:{error.problem_mark.line + 1}") from None
    finally:
        loader.dispose()


def follow(document, node):
    """What the $ref of a node points at; members beside it win."""
    while "$ref" in node:
        target = document
        for part in str(node["$ref"]).partition("#")[2].removeprefix("/").split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or part not in target:
                raise Wrong(f"$ref {node['$ref']!r}: there is no {part!r}", node.at)
            target = target[part]
        at, node = node.at, Node({**target, **{k: v for k, v in node.items() if k != "$ref"}})
        node.at = at
    return node


def make_local(node):
    """Each $ref below to a component of whichever file becomes one of the bundle."""
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        make_local(inner)
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        node["$ref"] = "#" + node["$ref"].partition("#")[2]


def adopt(root, part):
    """Takes the components of another file in."""
    for kind, named in part.get("components", {}).items():
        ours = root.setdefault("components", Node()).setdefault(kind, Node())
        for name, component in named.items():
            if name in ours:
                raise Wrong(f"another file has components/{kind}/{name}, too", getattr(component, "at", None))
            make_local(component)
            ours[name] = component


def add_headers(root, operation, responses, statuses, more):
    for status in (s for s in responses if str(s).startswith(statuses)):
        response = Node(follow(root, responses[status]))
        response.at = operation.at
        response["headers"] = {**response.get("headers", {}), **more.get("headers", {})}
        responses[status] = response


def complete(root, operation, every, replayed, stale):
    """Adds what all operations share to one."""
    operation["parameters"] = operation.get("parameters", []) + every.get("parameters", [])
    responses = Node({**operation["responses"], **every.get("responses", {})})
    responses.at = operation.at
    if any(p.get("$ref", "").endswith("/IdempotencyKey") for p in operation["parameters"]):
        operation["parameters"] = operation["parameters"] + replayed.get("parameters", [])
        add_headers(root, operation, responses, "2", replayed)
    if operation.get("x-stale"):
        add_headers(root, operation, responses, ("2", "404"), stale)
    operation["responses"] = responses


def load(path):
    """The whole contract, bundled."""
    path = pathlib.Path(path)
    root, parts = read(path, path.name), {}
    if not isinstance(root, Node):
        raise Wrong("no mapping", f"{path.name}:1")
    for name, item in root["paths"].items():
        where = item.get("$ref", "") if isinstance(item, dict) else ""
        file = str(where).partition("#")[0]
        if file:
            if file not in parts:
                parts[file] = read(path.parent / file, file)
                adopt(root, parts[file])
            root["paths"][name] = item = follow(parts[file], item)
            make_local(item)
    for file in sorted(str(p.relative_to(path.parent)) for p in path.parent.glob("openapi/*.yaml")):
        for name, item in (parts.get(file) or read(path.parent / file, file))["paths"].items():
            if name not in root["paths"]:
                pointer = name.replace("~", "~0").replace("/", "~1")
                raise Wrong(
                    f"{path.name} does not list this path; add below its paths: "
                    f"{name}: {{$ref: '{file}#/paths/{pointer}'}}",
                    item.at,
                )
    every, replayed = root.pop("x-every-operation", {}), root.pop("x-every-idempotent-success", {})
    stale = root.pop("x-every-stale-response", {})
    for item in root["paths"].values():
        for operation in (item[m] for m in METHODS if m in item):
            complete(root, operation, every, replayed, stale)
    return root


def dump(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)


if __name__ == "__main__":
    try:
        print(dump(load(*sys.argv[1:] or [pathlib.Path(__file__).resolve().parent.parent / "openapi.yaml"])))
    except Wrong as wrong:
        sys.exit(f"{wrong.at or 'openapi.yaml:1'}: {wrong}")
