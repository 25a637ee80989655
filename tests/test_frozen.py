#!/usr/bin/env python3
"""Checks that the interface on which clients rely is as tests/frozen.json has it: paths, methods,
scopes, parameters, fields with their types, ranges and defaults, values of enumerations, statuses,
headers, codes of problems, options, and the layout of keys. Additions pass, except a new field that
a request must have. tests/test_frozen.py OPENAPI_JSON [--record]

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
    """The contract as {address: value}. Named components are listed once."""

    def __init__(self, document):
        self.components, self.rows = document["components"], {}
        self.of_requests = set()  # the schemas of request bodies
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.operation(f"{method.upper()} {path}", operation)
        for name, parameter in self.components["parameters"].items():
            self.parameter(f"parameter {name}", parameter)
        for name, response in self.components["responses"].items():
            self.response(f"response {name}", response)
        for name, header in self.components["headers"].items():
            self.schema(f"header {name}", header["schema"])
        for name, schema in self.components["schemas"].items():
            self.schema(f"schema {name}", schema)

    def operation(self, at, operation):
        for member in ("operationId", "x-scope", "x-effect", "x-replay", "x-stale", "security"):
            if member in operation:
                self.rows[f"{at}: {member}"] = operation[member]
        for code in operation.get("x-problems", []):
            self.rows[f"{at}: problem {code}"] = True
        for parameter in operation.get("parameters", []):
            if "$ref" in parameter:
                self.rows[f"{at}: {name_of(parameter)}"] = True
            else:
                self.parameter(f"{at}: parameter", parameter)
        body = operation.get("requestBody", {})
        for kind, content in body.get("content", {}).items():
            self.schema(f"{at}: body {kind}", content["schema"], body.get("required", False))
            self.note_request(content["schema"])
        for status, response in operation["responses"].items():
            self.response(f"{at}: {status}", response)

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

    def parameter(self, at, parameter):
        at = f"{at} {parameter['in']} {parameter['name']}"
        self.schema(at, parameter["schema"], parameter.get("required", False))

    def response(self, at, response):
        self.rows[at] = response["$ref"] if "$ref" in response else True
        for name, header in response.get("headers", {}).items():
            self.rows[f"{at} header {name}"] = header.get("$ref", True)
        for kind, content in response.get("content", {}).items():
            self.schema(f"{at} {kind}", content["schema"])

    def schema(self, at, schema, required=None):
        """`required` is None if the schema is not a member."""
        row = {member: schema[member] for member in ("type", "$ref", *BOUNDS) if member in schema}
        if required is not None:
            row["required"] = required
        self.rows[at] = row
        for value in schema.get("enum", []):
            self.rows[f"{at} = {json.dumps(value)}"] = True
        for name, member in schema.get("properties", {}).items():
            self.schema(f"{at} /{name}", member, name in schema.get("required", []))
        for member, key in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(schema.get(member), dict):
                self.schema(f"{at} {key}", schema[member])
        for member in ("allOf", "anyOf", "oneOf"):
            for i, one in enumerate(schema.get(member, [])):
                self.schema(f"{at} {member} {i}", one)


def name_of(reference):
    return " ".join(reference["$ref"].split("/")[-2:])


def now(contract):
    rows = contract.rows
    for kind, flag, rest in OPTION.findall((TOP / "service/process/options.def").read_text()):
        # In a row the default follows the name of the argument. A choice has no argument, and a
        # flag has neither.
        texts = re.findall(r'"([^"]*)"|([^\s",][^",]*)', rest.rsplit(")", 1)[0])
        texts = [text or plain.strip() for text, plain in texts]
        at = {"TEXT": 1, "SECRET": 1, "INT": 1, "CHOICE": 0}.get(kind)
        rows[f"option --{flag}"] = {"kind": kind.lower()} | ({} if at is None else {"default": texts[at]})
    for code, status, effect, retry in PROBLEM.findall((TOP / "service/request/errors.def").read_text()):
        rows[f"code {code}"] = {"status": int(status), "effect": effect.lower(), "retry": retry.lower()}
    rows["layout of queues"] = LAYOUT.search((TOP / "lua/queues/lib_queue.lua").read_text())[1]
    kinds = re.findall(r'#define KEY_\w+\s*\\?\s*"(\w+)"', (TOP / "handlers/common/kinds.h").read_text())
    return rows | {f"keys {kind}": True for kind in kinds}


def broken(frozen, contract, rows):
    for at, was in frozen.items():
        if at not in rows:
            yield f"{at} is gone"
        elif rows[at] != was:
            yield f"{at} was {json.dumps(was)} and is {json.dumps(rows[at])}"
    for at, row in rows.items():
        parent, _, _ = at.rpartition(" /")
        is_request = ": body " in at or at.split()[1].rstrip(":") in contract.of_requests
        # The row of a schema is a dictionary; a value of an enumeration is `True`.
        is_required = isinstance(row, dict) and row.get("required")
        if at not in frozen and parent in frozen and is_request and is_required:
            yield f"{at} is new, and requests without it are refused"


def changed(document, change):
    """The faults when `change` was applied to a copy of the contract."""
    after = copy.deepcopy(document)
    change(after)
    before, contract = Contract(document), Contract(after)
    return list(broken(before.rows, contract, contract.rows))


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
rows = now(contract)
if "--record" in sys.argv:
    lines = ",\n".join(f"{json.dumps(at)}: {json.dumps(rows[at])}" for at in sorted(rows))
    RECORD.write_text("{\n" + lines + "\n}\n")
    sys.exit(f"recorded {len(rows)} rows")
faults = list(broken(json.loads(RECORD.read_text()), contract, rows))
for fault in faults:
    print(fault)
if faults:
    print(f"To change it on purpose: tests/test_frozen.py {sys.argv[1]} --record, and state why in the commit.")
sys.exit(len(faults) > 0)
