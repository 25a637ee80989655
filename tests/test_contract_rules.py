#!/usr/bin/env python3
"""Checks the contract by its own rules: test_contract_rules.py [PATTERN]

Each rule is one function, and its docstring is the rule. A finding names file and line. With
PATTERN only the findings in openapi/PATTERN.yaml count. The last line reads `N rules, N findings`.
The exit status is 1 if there is a finding.
"""
import json
import pathlib
import re
import sys

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
import contract as contract_file  # noqa: E402
import problems  # noqa: E402
import reference  # noqa: E402
from contract import METHODS, Node  # noqa: E402

VERBS = set(
    """get list put patch delete acquire release extend hold check send receive acknowledge reject
    settle redrive purge pause resume take refund authorize add lookup combine merge push increment
    confirm invalidate fill publish stream write count rebuild run""".split()
)
# The actions of scopes, by kind: list, read, write and manage, or verbs of the domain.
ACTIONS = {
    "locks": "list read acquire manage",
    "semaphores": "list read acquire manage",
    "fences": "list read write manage",
    "queues": "list read send receive write manage",
    "ratelimit": "list read take refund reset",
    "policies": "list read manage authorize",
    "cache": "list read write",
    "topics": "list read publish subscribe",
    "sales": "list read claim manage",
    "keys": "list read write manage",
    "names": "manage",
    "metrics": "read",
    "info": "read",
}
ACTIONS |= dict.fromkeys(
    "geo uv pv bloom counters feeds sets leaderboards bitmaps checkins".split(), "list read write manage"
)
NOT_IMPERATIVE = set("one this the a an whether how what which all names".split())
# The first path segments of kinds that lack some of the usual methods; each name is the reason.
NO_STATE = {"healthz", "readyz", "metrics", "info", "openapi.json", "problems", "ratelimit", "names", "overview", "push"}
CREATED_BY_USE = "locks semaphores fences uv pv counters feeds sets bitmaps checkins cache keys topics".split()
NOT_DELETED = {"topics"}  # a topic keeps nothing
OLD_NAMES = {"results", "next_offset", "queue_name", "board", "filter", "page", "resource", "max", "n"}


class Contract:
    def __init__(self):
        self.doc = contract_file.load()
        self.operations = [
            (path, method, item[method])
            for path, item in self.doc["paths"].items()
            for method in METHODS
            if method in item
        ]
        self.requests, self.responses = {}, {}
        for _, _, operation in self.operations:
            for parameter in operation["parameters"]:
                self.reach(parameter, self.requests)
            self.reach(operation.get("requestBody", {}), self.requests)
            self.reach(operation["responses"], self.responses)

    def reach(self, node, into):
        """Notes each mapping of a request or a response, except examples."""
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
        """The mapping to which a $ref points, not a copy."""
        while set(node) == {"$ref"}:
            target = self.doc
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return contract_file.follow(self.doc, node) if "$ref" in node else node

    def schema_of(self, content):
        return self.follow(next(iter(content.values())).get("schema", {})) if content else {}

    def body_of(self, operation):
        return self.schema_of(self.follow(operation.get("requestBody", {})).get("content", {}))

    def success(self, operation):
        """The responses of 2xx, by status."""
        return {status: self.follow(r) for status, r in operation["responses"].items() if str(status).startswith("2")}

    def parameters(self, operation):
        return [self.follow(p) for p in operation["parameters"]]


def is_schema(node):
    return "type" in node and not isinstance(node["type"], dict)


def types_of(schema):
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]


def formats(c):
    """Every integer has the format int32 or int64 that its range asks for."""
    for node in [*c.requests.values(), *c.responses.values()]:
        if is_schema(node) and "integer" in types_of(node):
            values = node.get("enum", [node.get("minimum", -(2**63)), node.get("maximum", 2**63)])
            small = -(2**31) <= min(values) and max(values) < 2**31
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
    """Each kind has GET /kind, and GET and DELETE of /kind/{name}. PUT replaces the whole, and
    PATCH merges.
    """
    paths = c.doc["paths"]
    kinds = dict.fromkeys(path.split("/")[1] for path in paths)
    for kind in (k for k in kinds if k not in NO_STATE):
        one = next((p for p in paths if re.fullmatch(rf"/{kind}/\{{(name|key)\}}", p)), None)
        # The place of an operation is in the file of its pattern; the place of a path is in
        # openapi/root.yaml.
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
    for path, method, operation in c.operations:
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
    for path, method, operation in c.operations:
        for response in c.success(operation).values():
            schema = c.schema_of(response.get("content", {}))
            names = set(schema.get("properties", {}))
            if method == "get" and names & {"items", "next_cursor", "results"}:
                asked = {p["name"] for p in c.parameters(operation)}
                if not {"items", "next_cursor"} <= set(schema.get("required", [])):
                    yield operation, f"{method.upper()} {path}: items and next_cursor must both be required"
                if not {"limit", "cursor"} <= asked:
                    yield operation, f"{method.upper()} {path}: takes no limit or no cursor"


def own_name(c):
    """The name of a resource is `name`, and no field has a name that is no longer used."""
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
    """An absent value is null or left out: no time or fence of a response is -1, and no instant is
    0.
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
    """Operation ids are noun_verb, with one of few verbs. The noun of an operation on several
    resources that the request names ends with _list.
    """
    for _, method, operation in c.operations:
        noun, _, verb = operation["operationId"].rpartition("_")
        if not noun or verb not in VERBS:
            yield operation, (
                f"{operation['operationId']}: must be a noun and a verb ({', '.join(sorted(VERBS))}); "
                "add a new verb to VERBS of tests/test_contract_rules.py"
            )
        elif verb in ("put", "patch", "delete") and verb != method:
            yield operation, f"{operation['operationId']}: is {method.upper()}"


def parts_of(c, schema, seen=None):
    """Yields the schema, and each schema that it combines."""
    seen = {} if seen is None else seen
    schema = c.follow(schema)
    if id(schema) in seen:
        return
    seen[id(schema)] = schema
    yield schema
    for word in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(word, []):
            yield from parts_of(c, part, seen)


def properties_of(c, schema):
    return {name: value for part in parts_of(c, schema) for name, value in part.get("properties", {}).items()}


def members_below(c, schema, seen=None):
    """(name, schema) of each member at any depth."""
    seen = {} if seen is None else seen
    for part in parts_of(c, schema, seen):
        for name, value in part.get("properties", {}).items():
            yield name, c.follow(value)
            yield from members_below(c, value, seen)
        for inner in (part.get("items"), part.get("additionalProperties")):
            if isinstance(inner, dict):
                yield from members_below(c, inner, seen)


def items_are_objects(c):
    """The items of a list in a response are objects, so that they can get further members. Other
    lists are parallel to a list of the request (x-parallel: true), or have the name of such a list
    or of a setting.
    """
    asked_of = {o["operationId"]: {name for name, _ in members_below(c, c.body_of(o))} for _, _, o in c.operations}
    for path, _, operation in c.operations:
        put = c.doc["paths"].get("/".join(path.split("/")[:2]) + "/{name}", {}).get("put", operation)
        asked = {p["name"] for p in c.parameters(operation)}
        asked |= asked_of[operation["operationId"]] | asked_of[put["operationId"]]
        for response in c.success(operation).values():
            for name, schema in members_below(c, c.schema_of(response.get("content", {}))):
                items = c.follow(schema.get("items", {}))
                is_list = is_schema(schema) and "array" in types_of(schema) and is_schema(items)
                if is_list and "object" not in types_of(items) and not schema.get("x-parallel") and name not in asked:
                    yield schema, f"the items of {name} ({operation['operationId']}) must be objects"


def answers_have_their_name(c):
    """A success about one named resource has its name. A page of a list has the name in its target,
    and a resource below a name has an id.
    """
    for path, method, operation in c.operations:
        wanted = re.search(r"\{(name|key)\}", path)
        for response in c.success(operation).values() if wanted else []:
            kind, content = next(iter(response.get("content", {}).items()), (None, None))
            names = set(properties_of(c, content["schema"])) if kind == "application/json" else {"name"}
            if not names & {"name", "key", "next_cursor", "id"}:
                yield operation, f"{method.upper()} {path}: the answer lacks {wanted[1]}"


def integers_are_integers(c):
    """No enumeration has integers as strings."""
    for node in [*c.requests.values(), *c.responses.values()]:
        if is_schema(node) and any(isinstance(v, str) and re.fullmatch(r"-?\d+", v) for v in node.get("enum", [])):
            yield node, f"the enum {node['enum']} must have integers"


def retry_after(c):
    """A problem of 4xx has either both Retry-After and retry_after_ms in its own schema, or
    neither. Every problem of 503 has both.
    """
    plain = c.doc["components"]["schemas"]["Problem"]
    for _, _, operation in c.operations:
        for status, response in operation["responses"].items():
            response = c.follow(response)
            content = response.get("content", {}).get("application/problem+json")
            parts = list(parts_of(c, content["schema"])) if content else []
            own = [p for p in parts if p is not plain]
            has = any("retry_after_ms" in [*p.get("required", []), *p.get("properties", {})] for p in own)
            if str(status).startswith("4") and parts and ("Retry-After" in response.get("headers", {})) != has:
                missing = "the header Retry-After" if has else "retry_after_ms in its schema"
                yield response, f"{operation['operationId']}: {status} lacks {missing}"


def locations(c):
    """A POST that creates one resource with its own path returns 201 with Location, and that path
    has GET.
    """
    for path, method, operation in c.operations:
        created = c.success(operation).get("201")
        below = [item for other, item in c.doc["paths"].items() if re.fullmatch(re.escape(path) + r"/\{\w+\}", other)]
        body = c.body_of(operation)
        required = [c.follow(body["properties"][name]) for name in body.get("required", [])]
        makes_several = any(is_schema(s) and "array" in types_of(s) for s in required)
        has_location = created and "Location" in created.get("headers", {})
        if method == "post" and created and below and not makes_several and not has_location:
            yield operation, f"POST {path}: 201 needs the header Location"
        if has_location and below and not any("get" in item for item in below):
            yield operation, f"POST {path}: the path of its Location needs GET"


def instants_are_milliseconds(c):
    """An instant in a request, `at_ms` or `..._at_ms`, is at least 10^12, so that seconds are not
    taken for milliseconds. Only a default of 0, before all instants, is exempt.
    """
    named = [member for node in c.requests.values() for member in node.get("properties", {}).items()]
    named += [(node["name"], node["schema"]) for node in c.requests.values() if "in" in node and "schema" in node]
    for name, schema in named:
        schema = c.follow(schema)
        alternatives = [c.follow(s) for s in schema.get("oneOf", schema.get("anyOf", [schema]))]
        for part in alternatives:
            is_instant = re.fullmatch(r"(\w+_)?at_ms", str(name)) and is_schema(part) and "integer" in types_of(part)
            if is_instant and part.get("default") != 0 and part.get("minimum") != 10**12:
                yield part, f"{name}: minimum: {10**12}"


def defaults_have_reasons(c):
    """Each default of a request has x-why: why it is the default, and how to choose another value.
    """
    for node in c.requests.values():
        if is_schema(node) and "default" in node:
            why = node.get("x-why", "")
            if not why.strip().endswith(".") or not 5 <= len(why.split()) <= 60:
                yield node, f"the default {node['default']!r} needs x-why, a sentence or two"


def scopes(c):
    """Scopes have the actions of ACTIONS only."""
    for path, method, operation in c.operations:
        scope = operation["x-scope"]
        for one in scope if isinstance(scope, list) else [scope]:
            kind, action = re.sub(r":\{.*\}| .*", "", one).partition(":")[::2]
            if one not in ("any", "none") and action not in ACTIONS.get(kind, "").split():
                yield operation, f"{method.upper()} {path}: the scope {one} has no action of ACTIONS in tests/test_contract_rules.py"


def words(c):
    """Each operation has an imperative summary and a description of at most 120 words; each member
    and parameter has a description.
    """
    for _, _, operation in c.operations:
        summary, description = operation["summary"], operation.get("description", "")
        if summary.split()[0].lower() in NOT_IMPERATIVE or summary.endswith(".") or len(summary) > 60:
            yield operation, f"summary {summary!r}: an imperative of at most 60 characters, without a full stop"
        if not 3 <= len(description.split()) <= 120:
            yield operation, f"{operation['operationId']}: a description of {len(description.split())} words (3 to 120)"
        for parameter in c.parameters(operation):
            if "description" not in parameter and "description" not in c.follow(parameter["schema"]):
                yield parameter, f"the parameter {parameter['name']} has no description"
    for node in [*c.requests.values(), *c.responses.values()]:
        for name, member in (node.get("properties", {}) if is_schema(node) else {}).items():
            if "description" not in member and "description" not in c.follow(member):
                yield member, f"the member {name} has no description"


def examples(c):
    """Each request and each response with a body has an example."""
    for _, _, operation in c.operations:
        bodies = [c.follow(operation["requestBody"])] if "requestBody" in operation else []
        for body in bodies + [c.follow(r) for r in operation["responses"].values()]:
            for kind, content in body.get("content", {}).items():
                if not {"example", "examples"} & set(content) and "example" not in c.follow(content["schema"]):
                    yield content, f"{operation['operationId']}: no example of {kind}"


def members_of_examples(c):
    """Each example of a response has the members that its schema requires."""

    def required(schema):
        schema = c.follow(schema)
        return set(schema.get("required", [])).union(*(required(part) for part in schema.get("allOf", [])))

    for node in c.responses.values():
        for content in node.get("content", {}).values() if isinstance(node.get("content"), dict) else []:
            values = [e.get("value") for e in content.get("examples", {}).values()] + [content.get("example")]
            for value in (v for v in values if isinstance(v, dict)):
                for lacking in sorted(required(content["schema"]) - value.keys()):
                    yield content, f"the example of {value.get('code', 'an answer')} lacks {lacking}, which its schema requires"


def problem_examples(c):
    """Each problem code has an example, which has the members that every problem has."""
    found = set()

    def walk(node):
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
            yield from walk(inner)
        if isinstance(node, dict) and isinstance(node.get("code"), str) and isinstance(node.get("request_id"), str):
            yield node

    for one in walk(c.doc):
        code = one["code"]
        found.add(code)
        if one["status"] == 503 and "retry_after_ms" not in one:
            yield one, f"the example of {code} lacks retry_after_ms"
        for error in one.get("errors", []):
            if error["detail"] not in one["detail"]:
                yield one, f"the example of {code}: its detail is not made of its errors"
    for code in sorted(set(problems.KNOWN) - found):
        yield None, f"no response has an example of the problem {code}"


def no_secret_in_a_query(c):
    """Tokens, permits, receipts and claims are in headers, bodies or paths, never in queries, which
    proxies log.
    """
    for node in c.requests.values():
        if node.get("in") == "query" and re.search(r"token|permit|receipt|claim|ticket|secret", str(node.get("name"))):
            yield node, f"the query parameter {node['name']} is a capability"


def nothing_is_deprecated(c):
    """The daemon does not send the headers Deprecation and Link that docs/reference.md promises for
    a deprecated operation. `git log -S deprecation_announce` finds code that sends them.
    """
    for _, _, operation in c.operations:
        if "deprecated" in operation:
            yield operation, f"{operation['operationId']}: a deprecated operation needs Deprecation and Link"


def whole(c):
    """The contract has its version and a contact; pages and their assets are not part of it."""
    if "contact" not in c.doc["info"]:
        yield c.doc["info"], "info needs contact"
    for path in c.doc["paths"]:
        if path.split("/")[1] in ("ui", "docs", ""):
            yield c.doc["paths"][path], f"{path} is a page: no operation"
    pages = reference.pages_of_tags()
    for tag in c.doc["tags"]:
        folder = pages.get(tag["name"], "").removesuffix(".md")
        if not all((TOP / p).exists() for p in (f"openapi/{folder}.yaml", f"handlers/{folder}", f"docs/{folder}.md")):
            yield tag, f"the tag {tag['name']}: openapi/ and handlers/ must have the name of its page in docs/README.md"


def one_document(c):
    """openapi.yaml is what tools/reference.py writes, and the document that the daemon serves."""
    text = (TOP / "openapi.yaml").read_text()
    top = Node()
    top.at = "openapi.yaml:1"
    if text != reference.whole_contract():
        yield top, "is not of today's openapi/: run tools/reference.py"
    elif yaml.safe_load(text) != json.loads(contract_file.dump(c.doc)):
        yield top, "is read as another document than the JSON that is served"


RULES = (
    one_document,
    formats,
    closed_requests_open_responses,
    one_table_of_verbs,
    lists,
    own_name,
    absent_is_null,
    items_are_objects,
    answers_have_their_name,
    integers_are_integers,
    retry_after,
    locations,
    instants_are_milliseconds,
    defaults_have_reasons,
    scopes,
    operation_ids,
    words,
    examples,
    members_of_examples,
    problem_examples,
    no_secret_in_a_query,
    nothing_is_deprecated,
    whole,
)


def main(pattern=None):
    try:
        contract, findings = Contract(), set()
    except contract_file.Wrong as wrong:
        sys.exit(f"{wrong.at or 'openapi/root.yaml:1'}: {wrong}")
    for rule in RULES:
        for node, what in rule(contract):
            at = getattr(node, "at", None) or "openapi/root.yaml:1"
            if not pattern or at.startswith(f"openapi/{pattern}.yaml:"):
                findings.add((at.partition(":")[0], int(at.partition(":")[2]), f"{what} ({rule.__name__})"))
    for file, line, what in sorted(findings):
        print(f"{file}:{line}: {what}")
    print(f"{len(RULES)} rules, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
