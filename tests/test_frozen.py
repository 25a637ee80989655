#!/usr/bin/env python3
"""Checks that the interface on which clients rely is as tests/frozen.json has it: paths, methods,
scopes, parameters, fields with their types, ranges and defaults, values of enumerations, statuses,
headers, codes of problems, options, and the layout of keys. Additions pass, except a new field that
a request must have. The record has a line for each operation, component, code and option.
tests/test_frozen.py OPENAPI_JSON [--record]

Until the first release a deliberate change is recorded, in the commit that states why. After the
release the content of the file stays for all of 1.x.
"""
import copy
import json
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
RECORD = TOP / "tests/frozen.json"
# The keywords of a schema that restrict a value.
BOUNDS = (
    "default",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "x-max-bytes",
    "minItems",
    "maxItems",
    "uniqueItems",
    "pattern",
    "const",
    "x-name",
    "x-part",
    "x-bytes",
    "x-plain",
    "x-date",
    "x-any",
    "x-excludes",
    "x-required",
    "x-reserved",
)
OPTION = re.compile(
    r'^OPTION_(TEXT|INT|FLAG|CHOICE|SECRET|OPTIONAL)\(\w+,\s*"([^"]+)",\s*(.*?)(?=^OPTION_|\Z)', re.M | re.S
)
PROBLEM = re.compile(r'PROBLEM\(\w+,\s*"(\w+)",\s*(\d+),\s*EFFECT_(\w+),\s*RETRY_(\w+)')
LAYOUT = re.compile(r"^local LAYOUT = '(\d+)'", re.M)


class Contract:
    """The contract as {thing: {promise: value}}, where a thing is an operation or a named
    component. A value is a text, or a list of which each element is a promise.
    """

    def __init__(self, document):
        self.components, self.things = document["components"], {}
        self.of_requests = set()  # the schemas of request bodies
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.operation(self.thing(f"{method.upper()} {path}"), operation)
        for name, parameter in self.components["parameters"].items():
            self.parameter(self.thing(f"parameter {name}"), parameter)
        for name, response in self.components["responses"].items():
            self.response(self.thing(f"response {name}"), "answer", response)
        for name, header in self.components["headers"].items():
            self.schema(self.thing(f"header {name}"), "value", header["schema"])
        for name, schema in self.components["schemas"].items():
            self.schema(self.thing(f"schema {name}"), "", schema)

    def thing(self, name):
        return self.things.setdefault(name, {})

    def operation(self, rows, operation):
        for member in ("operationId", "x-scope", "x-effect", "x-replay", "x-stale", "security"):
            if member in operation:
                rows[member] = text_of(operation[member])
        parameters = operation.get("parameters", [])
        rows["parameters"] = [text_of(p["$ref"]) for p in parameters if "$ref" in p]
        for parameter in (p for p in parameters if "$ref" not in p):
            self.parameter(rows, parameter)
        body = operation.get("requestBody", {})
        for kind, content in body.get("content", {}).items():
            self.schema(rows, f"body {kind}", content["schema"], body.get("required", False))
            self.note_request(content["schema"])
        rows["problems"] = operation.get("x-problems", [])
        for status, response in operation["responses"].items():
            self.response(rows, status, response)

    def note_request(self, node):
        if isinstance(node, list):
            for one in node:
                self.note_request(one)
        elif isinstance(node, dict):
            name = node.get("$ref", "").rpartition("/")[2]
            if name and name not in self.of_requests:
                self.of_requests.add(name)
                self.note_request(self.components["schemas"][name])
            for value in node.values():
                self.note_request(value)

    def parameter(self, rows, parameter):
        at = f"{parameter['in']} {parameter['name']}"
        self.schema(rows, at, parameter["schema"], parameter.get("required", False))

    def response(self, rows, at, response):
        rows[at] = text_of(response.get("$ref", ""))
        headers = response.get("headers", {}).items()
        rows[f"{at} headers"] = [f"{name} {text_of(header.get('$ref', ''))}".strip() for name, header in headers]
        for kind, content in response.get("content", {}).items():
            self.schema(rows, f"{at} {kind}", content["schema"])

    def schema(self, rows, at, schema, is_required=False):
        row = [f"{member}={text_of(schema[member])}" for member in BOUNDS if member in schema]
        named = [text_of(schema[member]) for member in ("type", "$ref") if member in schema]
        rows[at] = " ".join([*named, *row, *(["required"] if is_required else [])])
        rows[f"{at} values"] = [text_of(value) for value in schema.get("enum", [])]
        for name, member in schema.get("properties", {}).items():
            self.schema(rows, f"{at}/{name}", member, name in schema.get("required", []))
        for member, key in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(schema.get(member), dict):
                self.schema(rows, f"{at}{key}", schema[member])
        for member in ("allOf", "anyOf", "oneOf"):
            for i, one in enumerate(schema.get(member, [])):
                self.schema(rows, f"{at} {member} {i}", one)


def text_of(value):
    if isinstance(value, str):
        return re.sub("^#/components/(schemas|parameters|responses|headers)/", "", value)
    return json.dumps(value)


def now(contract):
    """All that is promised: the contract, options, problems and the layout of keys."""
    options, codes = {}, {}
    for kind, flag, rest in OPTION.findall((TOP / "service/process/options.def").read_text()):
        # In a row the default follows the name of the argument. A choice has no argument, and a
        # flag has neither.
        texts = re.findall(r'"([^"]*)"|([^\s",][^",]*)', rest.rsplit(")", 1)[0])
        texts = [text or plain.strip() for text, plain in texts]
        at = {"TEXT": 1, "SECRET": 1, "INT": 1, "CHOICE": 0}.get(kind)
        options[f"option --{flag}"] = {kind.lower(): "" if at is None else texts[at]}
    for code, status, effect, retry in PROBLEM.findall((TOP / "service/request/errors.def").read_text()):
        codes[f"code {code}"] = {"status": status, "effect": effect.lower(), "retry": retry.lower()}
    layout = LAYOUT.search((TOP / "lua/queues/lib_queue.lua").read_text())[1]
    kinds = re.findall(r'#define KEY_\w+\s*\\?\s*"(\w+)"', (TOP / "handlers/common/key_kinds.h").read_text())
    return contract.things | options | codes | {"keys": {"kinds": kinds, "layout of queues": layout}}


def broken(frozen, contract, things):
    for thing, promises in frozen.items():
        for promise, was in promises.items():
            at, current = f"{thing}: {promise}", things.get(thing, {}).get(promise)
            if isinstance(was, list):
                yield from (f"{at} {one} is gone" for one in was if one not in (current or []))
            elif current is None:
                yield f"{at} is gone"
            elif current != was:
                yield f"{at} was '{was}' and is '{current}'"
    for thing, promises in things.items():
        for promise, value in promises.items():
            is_request = promise.startswith("body ") or thing.removeprefix("schema ") in contract.of_requests
            is_new = promise not in frozen.get(thing, {}) and promise.rpartition("/")[0] in frozen.get(thing, {})
            if is_request and is_new and f" {value}".endswith(" required"):
                yield f"{thing}: {promise} is new, and requests without it are refused"


def changed(document, change):
    """The faults when `change` was applied to a copy of the contract."""
    after = copy.deepcopy(document)
    change(after)
    before, contract = Contract(document), Contract(after)
    return list(broken(before.things, contract, contract.things))


def check_itself(document):
    """Changes of the contract, each of which is or is not a fault."""

    def lock_request(contract):
        return contract["components"]["schemas"]["LockRequest"]

    def acquire(contract):
        return contract["paths"]["/locks/{name}"]["post"]

    def require(contract):
        lock_request(contract)["properties"]["new"] = {"type": "string"}
        lock_request(contract).setdefault("required", []).append("new")

    passes = {
        "nothing": lambda c: None,
        "a new value of an enumeration in a request": lambda c: lock_request(c)["properties"]["mode"]["enum"].append("new"),
        "a new optional field of a request": lambda c: lock_request(c)["properties"].update(new={"type": "string"}),
        "a new field of an answer": lambda c: c["components"]["schemas"]["Info"]["properties"].update(new={"type": "string"}),
        "a new code of a problem": lambda c: acquire(c)["x-problems"].append("new"),
    }
    fails = {
        "a new field that a request must have": require,
        "a removed field": lambda c: lock_request(c)["properties"].pop("ttl_ms"),
        "a removed value of an enumeration": lambda c: lock_request(c)["properties"]["mode"]["enum"].pop(),
        "a lowered maximum": lambda c: c["components"]["schemas"]["LockTtl"].update(maximum=1000),
        "another scope": lambda c: acquire(c).update({"x-scope": "locks:{name}:renamed"}),
        "a removed path": lambda c: c["paths"].pop("/locks/{name}"),
        "a removed code of a problem": lambda c: acquire(c)["x-problems"].pop(),
    }
    for what, change in passes.items():
        assert not changed(document, change), f"{what} is not a fault"
    for what, change in fails.items():
        assert changed(document, change), f"{what} is a fault"


document = json.loads(pathlib.Path(sys.argv[1]).read_text())
check_itself(document)
contract = Contract(document)
things = now(contract)
if "--record" in sys.argv:
    kept = {thing: {promise: value for promise, value in rows.items() if value != []} for thing, rows in things.items()}
    lines = ",\n".join(f"{json.dumps(thing)}: {json.dumps(kept[thing])}" for thing in sorted(kept))
    RECORD.write_text("{\n" + lines + "\n}\n")
    sys.exit(f"recorded {len(things)} things")
faults = list(broken(json.loads(RECORD.read_text()), contract, things))
for fault in faults:
    print(fault)
if faults:
    print(f"To change it on purpose: tests/test_frozen.py {sys.argv[1]} --record, and state why in the commit.")
sys.exit(len(faults) > 0)
