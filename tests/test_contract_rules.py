#!/usr/bin/env python3
"""Checks the contract by its own rules: test_contract_rules.py [PATTERN]

One function a rule; its first line is the rule. A finding names file and line. With PATTERN only
the findings in openapi/PATTERN.yaml count. The last line reads `N rules, N findings`; the exit
status is 1 when there is one.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
import contract as contract_file  # noqa: E402
from contract import METHODS  # noqa: E402

VERBS = set(
    """get list put patch delete acquire release extend hold check send receive
    receive_any acknowledge reject settle redrive purge take refund authorize authorize_path add
    exists lookup union combine merge push increment confirm invalidate fill publish stream write
    count rebuild""".split()
)
NOT_IMPERATIVE = set("one this the a an whether how what which all names".split())
# A kind's first segment, and why it lacks rows of the table of verbs.
NO_STATE = {"healthz", "readyz", "metrics", "info", "openapi.json", "problems", "ratelimit", "names"}
CREATED_BY_USE = "locks semaphores fences uv pv counters feeds sets bitmaps checkins cache keys topics".split()
NOT_DELETED = {"topics"}  # nothing of a topic is kept
OLD_NAMES = {"results", "next_offset", "queue_name", "board", "filter", "page", "resource", "max", "n"}


class Contract:
    def __init__(self):
        self.doc = contract_file.load(TOP / "openapi.yaml")
        self.operations = [
            (path, method, item[method], item.get("parameters", []))
            for path, item in self.doc["paths"].items()
            for method in METHODS
            if method in item
        ]
        self.requests, self.responses = {}, {}
        for _, _, operation, shared in self.operations:
            for parameter in shared + operation["parameters"]:
                self.reach(parameter, self.requests)
            self.reach(operation.get("requestBody", {}), self.requests)
            self.reach(operation["responses"], self.responses)

    def reach(self, node, into):
        """Notes each mapping that a request or a response consists of, examples aside."""
        if isinstance(node, list):
            for inner in node:
                self.reach(inner, into)
        if not isinstance(node, dict) or id(node) in into:
            return
        into[id(node)] = node
        if "$ref" in node:
            self.reach(self.follow({"$ref": node["$ref"]}), into)
        for name, inner in node.items():
            if name not in ("example", "examples", "default", "enum", "x-problems"):
                self.reach(inner, into)

    def follow(self, node):
        """The mapping itself that a $ref points at, not a copy."""
        while set(node) == {"$ref"}:
            target = self.doc
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return contract_file.follow(self.doc, node) if "$ref" in node else node

    def schema_of(self, content):
        return self.follow(next(iter(content.values())).get("schema", {})) if content else {}

    def success(self, operation):
        """The responses of 2xx, by status."""
        return {status: self.follow(r) for status, r in operation["responses"].items() if str(status).startswith("2")}

    def parameters(self, operation, shared):
        return [self.follow(p) for p in shared + operation["parameters"]]


def is_schema(node):
    return "type" in node and not isinstance(node["type"], dict)


def types_of(schema):
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]


def formats(c):
    """Every integer has the format int32 or int64 that its range asks for."""
    for node in [*c.requests.values(), *c.responses.values()]:
        if is_schema(node) and "integer" in types_of(node):
            small = -(2**31) <= node.get("minimum", -(2**63)) and node.get("maximum", 2**63) < 2**31
            wanted = "int32" if small else "int64"
            if node.get("format") != wanted:
                yield node, f"format: {wanted} is missing or another"


def closed_requests_open_responses(c):
    """Requests are closed, responses are open."""
    for node in c.requests.values():
        if (
            is_schema(node)
            and "object" in types_of(node)
            and "additionalProperties" not in node
            and "x-any" not in node
        ):
            yield node, "an object of a request needs additionalProperties: false"
    for node in c.responses.values():
        if is_schema(node) and node.get("additionalProperties") is False:
            yield node, "an object of a response must be open: no additionalProperties: false" + (
                "; a schema of both needs two" if id(node) in c.requests else ""
            )


def one_table_of_verbs(c):
    """Each kind has GET /kind, and GET and DELETE of /kind/{name}; PUT replaces whole and PATCH
    merges.
    """
    paths = c.doc["paths"]
    kinds = dict.fromkeys(path.split("/")[1] for path in paths)
    for kind in (k for k in kinds if k not in NO_STATE):
        one = next((p for p in paths if re.fullmatch(rf"/{kind}/\{{(name|key)\}}", p)), None)
        # An operation's place is in the file of its pattern, a path's in openapi.yaml.
        at = next(paths[one][m] for m in METHODS if m in paths[one]) if one else None
        if f"/{kind}" not in paths or "get" not in paths[f"/{kind}"]:
            yield at, f"GET /{kind} must list"
        if not one:
            yield None, f"/{kind}/{{name}} is missing"
            continue
        for method in [
            "get",
            *([] if kind in NOT_DELETED else ["delete"]),
            *([] if kind in CREATED_BY_USE else ["put", "patch"]),
        ]:
            if method not in paths[one]:
                yield at, f"{method.upper()} {one} is missing" + (
                    f"; if {kind} are created by use, add {kind} to CREATED_BY_USE of tests/test_contract_rules.py"
                    if method in ("put", "patch")
                    else ""
                )
    for path, method, operation, _ in c.operations:
        if method == "delete" and set(c.success(operation)) != {"204"} and path != "/locks/{name}":
            yield operation, f"DELETE {path} must be 204"
        if (
            method in ("put", "patch")
            and not c.follow(operation.get("requestBody", {})).get("required")
            and path.count("{") < 2
        ):
            yield operation, f"{method.upper()} {path} needs a body: required: true"


def lists(c):
    """A list is {items, next_cursor}, asked for with limit and cursor."""
    for path, method, operation, shared in c.operations:
        for response in c.success(operation).values():
            schema = c.schema_of(response.get("content", {}))
            names = set(schema.get("properties", {}))
            if method == "get" and names & {"items", "next_cursor", "results"}:
                asked = {p["name"] for p in c.parameters(operation, shared)}
                if not {"items", "next_cursor"} <= set(schema.get("required", [])):
                    yield operation, f"{method.upper()} {path}: items and next_cursor must both be required"
                if not {"limit", "cursor"} <= asked:
                    yield operation, f"{method.upper()} {path}: takes no limit or no cursor"


def own_name(c):
    """The thing's own name is `name`, and no field has a name that is no longer used."""
    for path, item in c.doc["paths"].items():
        kind, *rest = path.strip("/").split("/")
        if rest and rest[0].startswith("{") and rest[0] not in ("{name}", "{key}", "{code}"):
            yield item, f"{path}: its parameter must be {{name}}"
    for node in [*c.requests.values(), *c.responses.values()]:
        for name in OLD_NAMES & set(node.get("properties", {}) if is_schema(node) else {}):
            yield node, f"the member {name} has a name that was given up"
        if node.get("in") in ("query", "path") and node.get("name") in OLD_NAMES:
            yield node, f"the parameter {node['name']} has a name that was given up"


def absent_is_null(c):
    """What is absent is null or left out: no time or fence of a response is -1, and 0 is no
    instant.
    """
    for node in c.responses.values():
        for name, member in (node.get("properties", {}) if is_schema(node) else {}).items():
            member = c.follow(member)
            if not is_schema(member) or "integer" not in types_of(member):
                continue
            if name.endswith(("_ms", "fence", "position", "rank")) and member.get("minimum", 0) < 0:
                yield member, f"{name}: its minimum is below 0"
            if name.endswith(("_at_ms", "_until_ms", "fence")) and member.get("minimum") != 1:
                yield member, f"{name}: minimum must be 1, and null what is absent"


def operation_ids(c):
    """Operation ids are noun_verb."""
    for path, method, operation, _ in c.operations:
        noun, verb = next(
            (
                (operation["operationId"][: -len(v) - 1], v)
                for v in sorted(VERBS, key=len, reverse=True)
                if operation["operationId"].endswith("_" + v)
            ),
            ("", ""),
        )
        if not noun:
            yield operation, (
                f"{operation['operationId']}: must be a noun and a verb ({', '.join(sorted(VERBS))}); "
                "add a new verb to VERBS of tests/test_contract_rules.py"
            )
        elif verb in ("put", "patch", "delete") and verb != method:
            yield operation, f"{operation['operationId']}: is {method.upper()}"


def words(c):
    """Each operation has an imperative summary and a description of at most 120 words; each member
    and parameter has a description.
    """
    for _, _, operation, shared in c.operations:
        summary, description = operation["summary"], operation.get("description", "")
        if summary.split()[0].lower() in NOT_IMPERATIVE or summary.endswith(".") or len(summary) > 60:
            yield operation, f"summary {summary!r}: an imperative of at most 60 characters, without a full stop"
        if not 3 <= len(description.split()) <= 120:
            yield operation, f"{operation['operationId']}: a description of {len(description.split())} words (3 to 120)"
        for parameter in c.parameters(operation, shared):
            if "description" not in parameter and "description" not in c.follow(parameter["schema"]):
                yield parameter, f"the parameter {parameter['name']} has no description"
    for node in [*c.requests.values(), *c.responses.values()]:
        for name, member in (node.get("properties", {}) if is_schema(node) else {}).items():
            if "description" not in member and "description" not in c.follow(member):
                yield member, f"the member {name} has no description"


def examples(c):
    """Each request and each response with a body has an example."""
    for _, _, operation, _ in c.operations:
        bodies = [c.follow(operation["requestBody"])] if "requestBody" in operation else []
        for body in bodies + [c.follow(r) for r in operation["responses"].values()]:
            for kind, content in body.get("content", {}).items():
                if not {"example", "examples"} & set(content) and "example" not in c.follow(content["schema"]):
                    yield content, f"{operation['operationId']}: no example of {kind}"


def no_secret_in_a_query(c):
    """Tokens, permits, receipts and claims travel in headers, bodies or paths, where proxies do not
    log them as queries.
    """
    for node in c.requests.values():
        if node.get("in") == "query" and re.search(r"token|permit|receipt|claim|ticket|secret", str(node.get("name"))):
            yield node, f"the query parameter {node['name']} is a capability"


def whole(c):
    """The contract has its version and a contact; pages and their assets are not part of it."""
    if "contact" not in c.doc["info"]:
        yield c.doc["info"], "info needs contact"
    for path in c.doc["paths"]:
        if path.split("/")[1] in ("ui", "docs", ""):
            yield c.doc["paths"][path], f"{path} is a page: no operation"
    for tag in c.doc["tags"]:
        folder = tag["name"].lower().replace(" ", "_")
        if not all((TOP / p).exists() for p in (f"openapi/{folder}.yaml", f"handlers/{folder}", f"docs/{folder}.md")):
            yield tag, f"the tag {tag['name']}: openapi/, handlers/ and docs/ must have {folder}"


RULES = (
    formats,
    closed_requests_open_responses,
    one_table_of_verbs,
    lists,
    own_name,
    absent_is_null,
    operation_ids,
    words,
    examples,
    no_secret_in_a_query,
    whole,
)


def main(pattern=None):
    contract, findings = Contract(), set()
    for rule in RULES:
        for node, what in rule(contract):
            at = getattr(node, "at", None) or "openapi.yaml:1"
            if not pattern or at.startswith(f"openapi/{pattern}.yaml:"):
                findings.add((at.partition(":")[0], int(at.partition(":")[2]), f"{what} ({rule.__name__})"))
    for file, line, what in sorted(findings):
        print(f"{file}:{line}: {what}")
    print(f"{len(RULES)} rules, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
