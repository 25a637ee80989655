"""Reads openapi/root.yaml with the files beside it, as one document.

This bundle is served, linted and made into C. It has the paths and components of all files, so each
$ref points into the document itself. Parameters of a path are given to each of its operations, the
schemas of lists are made of their items (x-list), and responses of problems are made whole
(tools/problems.py). Common parts are added: x-every-operation to every operation,
x-every-named-operation to those with a name in the path, x-every-idempotent-success to each 2xx
response of an operation that takes an Idempotency-Key, and x-every-stale-response to each 2xx and
404 response of an operation with x-stale. The body of a PATCH has both types of RFC 7396. Each
mapping knows its file and line.

tools/contract.py prints the bundle as JSON. tools/reference.py writes it as openapi.yaml.
"""
import io
import json
import pathlib
import re
import sys

import yaml

import problems

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "openapi/root.yaml"
METHODS = ("get", "put", "post", "patch", "delete")


class Wrong(Exception):
    """A fault of the contract, with its file:line if that is known."""

    def __init__(self, why, at=None):
        super().__init__(why)
        self.at = at


class Node(dict):
    """A mapping of the contract, with its place. A missing member raises an error that names it,
    instead of a KeyError.
    """

    at = None

    def __missing__(self, name):
        raise Wrong(f"{name!r} is missing", self.at)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # the parser in C, if PyYAML was built with it
    def node(self, at):
        made = Node()
        made.at = f"{at.start_mark.name}:{at.start_mark.line + 1}"
        yield made
        for name, value in self.construct_mapping(at).items():
            if isinstance(name, bool):  # of YAML 1.1
                raise Wrong(f"quote the member 'on', 'off', 'yes' or 'no': YAML reads it as {name}", made.at)
            made[name] = value


Loader.add_constructor("tag:yaml.org,2002:map", Loader.node)


def read(path, shown):
    try:
        stream = io.StringIO(pathlib.Path(path).read_text())
    except OSError as error:
        raise Wrong(f"{shown}: {error.strerror}") from None
    stream.name = shown  # the loader's marks have the file name
    loader = Loader(stream)
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        raise Wrong(error.problem, f"{shown}:{error.problem_mark.line + 1}") from None
    finally:
        loader.dispose()


def follow(document, node):
    """The node to which a $ref points; members beside the $ref take precedence."""
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


def make_local(node, files):
    """Each $ref below a node to a component of one of these files becomes a $ref to the bundle."""
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        make_local(inner, files)
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        file, _, pointer = node["$ref"].partition("#")
        if file and file not in files:
            raise Wrong(f"$ref {node['$ref']!r}: openapi/ has no file {file!r}", node.at)
        node["$ref"] = "#" + pointer


def adopt(root, part, files):
    """Adds the paths and the components of another file to the root's."""
    for path, item in part["paths"].items():
        make_local(item, files)
        if path in root["paths"]:
            raise Wrong(f"another file has the path {path}, too", item.at)
        root["paths"][path] = item
    for kind, named in part.get("components", {}).items():
        ours = root.setdefault("components", Node()).setdefault(kind, Node())
        for name, component in named.items():
            if name in ours:
                raise Wrong(f"another file has components/{kind}/{name}, too", getattr(component, "at", None))
            make_local(component, files)
            ours[name] = component


def make_list(schema):
    """Makes a schema with x-list whole, in place: a page of `items`, of `keys` that a scan finds,
    or of resources that an index of `names` has.
    """
    form, item, description = schema["x-list"], schema["items"], schema["description"]
    more = {"items": [], "keys": ["complete", "unread_slots"], "names": ["complete", "unread_slots", "unreadable"]}
    if form not in more:
        raise Wrong(f"x-list must be one of {', '.join(more)}", schema.at)
    items = {"$ref": f"#/components/schemas/{item}"}
    members = {"items": {"type": "array", "description": description, "items": items}}
    for name in ["next_cursor", *more[form]]:
        shared = {"next_cursor": "Cursor"}.get(name) or "".join(word.capitalize() for word in name.split("_"))
        members[name] = {"$ref": f"#/components/schemas/{shared}"}
    required = [name for name in members if name not in ("unread_slots", "unreadable")]
    schema.clear()
    schema.update({"type": "object", "required": required, "properties": members})


def share_parameters(item):
    """Gives the parameters of a path to each of its operations."""
    shared = item.pop("parameters", [])
    for operation in (item[m] for m in METHODS if m in item):
        operation["parameters"] = shared + operation.get("parameters", [])


def add_headers(root, operation, responses, statuses, more):
    for status in (s for s in responses if str(s).startswith(statuses)):
        response = Node(follow(root, responses[status]))
        response.at = operation.at
        response["headers"] = {**response.get("headers", {}), **more.get("headers", {})}
        responses[status] = response


def is_merged(root, schema):
    """Whether a PATCH can merge this schema as RFC 7396 does: a scalar, an object of such members,
    or a map whose values may be null. Another map, a list and any JSON are replaced as a whole.
    """
    schema = follow(root, schema)
    if isinstance(schema.get("additionalProperties"), dict):
        return "null" in schema["additionalProperties"].get("type", [])
    if "x-any" in schema or schema.get("type") == "array":
        return False
    return all(is_merged(root, s) for s in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])])


def take_both_types(root, operation):
    """The body of a PATCH may also be application/merge-patch+json, unless a member is replaced as
    a whole.
    """
    body = Node(follow(root, operation["requestBody"]))
    if not is_merged(root, body["content"]["application/json"]["schema"]):
        return
    body.at = operation["requestBody"].at
    body["content"] = {**body["content"], "application/merge-patch+json": body["content"]["application/json"]}
    operation["requestBody"] = body


# The order of an operation's members.
MEMBERS = ("operationId", "x-kind", "security", "tags", "summary", "description", "x-effect", "x-stale", "x-scope", "x-forwarded",
           "x-tail", "x-problems", "x-replay", "parameters", "requestBody", "responses")  # fmt: skip


def add_problems(components, codes_of_name, operation):
    """Adds the responses of the problems that an operation names, and lists their codes."""
    ours, codes, named = operation["responses"], [], {}
    for item in operation.get("x-problems", []):
        found = codes_of_name.get(item, [item])
        if not found:
            raise Wrong(f"x-problems names {item}, which has no code", operation.at)
        codes += found
        if item in codes_of_name:
            named[problems.status_of(found)] = item
    for status, response in ours.items():
        codes += expand_response(response, status)
    malformed = "ReservedName" if "reserved_name" in codes else "Malformed"
    if "400" not in ours and malformed in components.get("responses", {}):
        named.setdefault("400", malformed)
    made = {status: Node({"$ref": f"#/components/responses/{name}"}) for status, name in named.items()}
    failed = {s: r for s, r in ours.items() if s[0] in "45"} | made
    responses = {s: r for s, r in ours.items() if s not in failed} | {s: failed[s] for s in sorted(failed)}
    ours.clear()
    ours.update(responses)
    operation["x-problems"] = problems.in_order(codes)
    members = {m: operation[m] for m in MEMBERS if m in operation} | operation
    operation.clear()
    operation.update(members)


def expand_response(response, status=None):
    """Makes a response of problems whole, and returns its codes."""
    fault, codes = problems.fault(response, status), problems.codes_of(response)
    if fault:
        raise Wrong(fault, response.at)
    problems.expand(response)
    return codes


def expand_problems(root):
    """Makes the problems of all responses and operations whole."""
    named = root.get("components", {}).get("responses", {})
    common = {c for r in named.values() for c in r.get("x-codes", []) + r.get("x-rare-codes", [])}
    codes = {name: [c for c in expand_response(r) if c not in common] for name, r in named.items()}
    for item in root["paths"].values():
        for operation in (item[m] for m in METHODS if m in item):
            add_problems(root.get("components", {}), codes, operation)


def complete(root, path, operation, more):
    """Adds the parts that all operations share to one operation."""
    every, replayed = more.get("x-every-operation", {}), more.get("x-every-idempotent-success", {})
    operation["parameters"] = operation.get("parameters", []) + every.get("parameters", [])
    if "{" in path and not operation.get("x-forwarded"):
        operation["parameters"] = operation["parameters"] + more.get("x-every-named-operation", {}).get("parameters", [])
    responses = Node({**operation["responses"], **every.get("responses", {})})
    responses.at = operation.at
    if any(p.get("$ref", "").endswith("/IdempotencyKey") for p in operation["parameters"]):
        operation["parameters"] = operation["parameters"] + replayed.get("parameters", [])
        add_headers(root, operation, responses, "2", replayed)
    if operation.get("x-stale"):
        add_headers(root, operation, responses, ("2", "404"), more.get("x-every-stale-response", {}))
    operation["responses"] = responses


def load(path=SOURCE):
    """The whole contract, bundled."""
    folder = pathlib.Path(path).parent
    files = sorted(p.name for p in folder.glob("*.yaml"))
    shown = f"{folder.name}/{pathlib.Path(path).name}"
    root = read(path, shown)
    if not isinstance(root, Node):
        raise Wrong("no mapping", f"{shown}:1")
    listed = root.pop("x-files", [])
    for file in (f for f in files if f != pathlib.Path(path).name and f not in listed):
        raise Wrong(f"x-files lacks {file}", f"{shown}:1")
    for file in listed:
        adopt(root, read(folder / file, f"{folder.name}/{file}"), files)
    for schema in root.get("components", {}).get("schemas", {}).values():
        if "x-list" in schema:
            make_list(schema)
    for item in root["paths"].values():
        share_parameters(item)
    expand_problems(root)
    more = {name: root.pop(name) for name in list(root) if name.startswith("x-every-")}
    for path, item in root["paths"].items():
        for method, operation in ((m, item[m]) for m in METHODS if m in item):
            complete(root, path, operation, more)
            if method == "patch":
                take_both_types(root, operation)
    return root


def dump(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)


# A text that YAML 1.2 reads as a number. PyYAML, which knows YAML 1.1, would not quote it.
NUMBER = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+")


class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    """Long texts are blocks, and a mapping of a few scalars is one line."""

    def ignore_aliases(self, data):
        return True

    def text(self, value):
        style = "|" if len(value) > 100 or value.count("\n") > 1 else "'" if NUMBER.fullmatch(value) else None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def mapping(self, value):
        is_short = not any(isinstance(v, (dict, list)) for v in value.values()) and len(dump(value)) < 80
        return self.represent_mapping("tag:yaml.org,2002:map", value, flow_style=is_short)


Dumper.add_representer(str, Dumper.text)
Dumper.add_representer(dict, Dumper.mapping)


def yaml_text(document):
    """The bundle as YAML: the document that `dump` writes as JSON."""
    whole = json.loads(dump(document))
    return yaml.dump(whole, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)


if __name__ == "__main__":
    try:
        print(dump(load()))
    except Wrong as wrong:
        sys.exit(f"{wrong.at or 'openapi/root.yaml:1'}: {wrong}")
