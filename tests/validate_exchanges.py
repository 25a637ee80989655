#!/usr/bin/env python3
"""Checks the answers that tests got against the contract: validate_exchanges.py [--pattern NAME]
openapi.json FILE...

Each FILE has one exchange per line: {"operation": "lock_acquire", "method": "POST", "target":
"/locks/a", "status": 201, "content_type": "application/json", "body": "{...}", "headers":
{"retry-after": "1"}}, header names in lower case; `operation` is "" where no route matched. Each
answer must be as documented: status, media type, schema, headers and problem code. Together the
answers must cover every success status and media type of every operation, and each of its own
problem codes (x-problems). Each common code (x-codes of components/responses/Problem) must occur at
least once. The `detail` of each example of a problem must occur, with any names and numbers. With
--pattern only the operations that handlers/NAME defines count. A problem that did not occur is then
named but is not a failure, because a test of all operations, or of faults, may cover it.

The last line reads `N passed, N failed`; the exit status is 1 when anything failed.
"""
import argparse
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import re
import sys

import jsonschema

import quick_schema

ASKED_EACH = 30


def strict_json(text):
    """json.loads without NaN, Infinity and repeated members."""

    def members(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a member occurs twice")
        return dict(pairs)

    def constant(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, object_pairs_hook=members, parse_constant=constant)


def is_media_type(given, documented):
    """'text/plain; charset=utf-8' matches 'text/plain'; documented parameters must be present."""
    given, documented = ([part.strip().lower() for part in text.split(";")] for text in (given or "", documented))
    return given[0] == documented[0] and set(documented) <= set(given)


def shape(detail):
    """A detail without its variable parts: quoted texts, a proposal, the place of a field, and
    words with a digit, a brace or `_`.
    """
    detail = re.sub(r"'[^']*'", "''", detail.removesuffix(" (and more, see errors)"))
    detail = re.sub(r"^(?:[/?]\S*|\{\w+\}|[\w-]+:)|; did you mean ''\?$", "@", detail).removesuffix("@")
    return re.sub(r"[\w.:/-]*[\d_{][\w.:{}-]*", "#", detail)


def problems_in(node, done):
    """The examples of problems in a part of the contract."""
    if isinstance(node, (dict, list)) and id(node) not in done:
        done.add(id(node))
        for inner in node.values() if isinstance(node, dict) else node:
            yield from problems_in(inner, done)
        if isinstance(node, dict) and isinstance(node.get("code"), str) and isinstance(node.get("request_id"), str):
            yield node


def inlined(node, doc, done):
    """A part of doc in which each $ref is replaced by its target, because the validator would
    resolve it again for each value.
    """
    while isinstance(node, dict) and "$ref" in node:
        target = functools.reduce(lambda at, part: at[part], node["$ref"].removeprefix("#/").split("/"), doc)
        beside = {name: value for name, value in node.items() if name != "$ref"}
        node = {**beside, "allOf": [target, *beside.get("allOf", [])]} if beside else target
    if isinstance(node, (dict, list)) and id(node) not in done:
        done[id(node)] = node  # a recursive schema stays recursive
        for name in node if isinstance(node, dict) else range(len(node)):
            node[name] = inlined(node[name], doc, done)
    return node


def closed(node, done):
    """Closes each object of the responses. Clients must accept members of later releases, but this
    test accepts no undocumented member.

    The parts of an allOf stay open: each has members of the others.
    """
    if id(node) in done:
        return
    done.add(id(node))
    if isinstance(node, dict) and "properties" in node and node.get("type") == "object":
        node.setdefault("additionalProperties", False)
    for name, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []:
        closed([part.get("properties") for part in inner] if name == "allOf" else inner, done)


class Contract:
    def __init__(self, path):
        self.doc = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.doc = inlined(self.doc, self.doc, {})
        self.operations = {op["operationId"]: op for item in self.doc["paths"].values() for op in item.values()}
        closed([op["responses"] for op in self.operations.values()], set())
        self.common = self.doc["components"]["responses"]["Problem"]
        self.examples = {(one["code"], shape(one["detail"])): one["detail"] for one in problems_in(self.doc, set())}
        self.validators = {}
        self.seen = set()

    def misfit(self, value, schema):
        """Why a value does not match its schema, or None if it matches. jsonschema checks only some
        of the values that pass the quick check.
        """
        if id(schema) not in self.validators:
            self.validators[id(schema)] = (
                quick_schema.compiled(schema),
                jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"])),
                itertools.count(),
            )
        matches, validator, times = self.validators[id(schema)]
        quickly = matches(value)
        if quickly and next(times) % ASKED_EACH:
            return None
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if bool(error) == quickly:
            return f"{'matches' if quickly else 'does not match'} by quick_schema.py, not by jsonschema: {error}"
        return error and f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"

    def response_of(self, operation, status):
        """The documented response; `default` documents problems only."""
        op = self.operations.get(operation, {"responses": {} if operation else {"default": self.common}})
        return op["responses"].get(str(status), op["responses"].get("default") if status >= 400 else None)

    def check_headers(self, response, headers):
        for name, header in response.get("headers", {}).items():
            text = headers.get(name.lower())
            if text is None and header.get("required"):
                return f"the header {name} is missing"
            whole = header["schema"]["type"] == "integer" and text and text.isascii() and text.isdigit()
            why = text is not None and self.misfit(int(text) if whole else text, header["schema"])
            if why:
                return f"the header {name}: {why}"
        return None

    def check_problem(self, operation, status, body):
        code, op = body["code"], self.operations.get(operation, {"x-problems": []})
        if code not in op["x-problems"] + self.common["x-codes"] + self.common["x-rare-codes"]:
            return f"the code {code} is not documented for this operation"
        if body["status"] != status or body["type"] != f"/problems/{code}":
            return f"the body says status {body['status']}, type {body['type']}"
        self.seen |= {("code", code), (operation, code)}
        if (code, shape(body["detail"])) in self.examples:
            self.seen.add(("detail", code, shape(body["detail"])))
        return None

    def check(self, exchange):
        """Why an exchange is not as documented, or None if it is. Records what the exchange covers.
        """
        operation, status, text = exchange["operation"], exchange["status"], exchange["body"]
        response = self.response_of(operation, status)
        if not operation and status < 400 and re.match(r"/(ui|docs|favicon\.ico)?([/?]|$)", exchange["target"]):
            return None  # a page
        if exchange["method"] == "OPTIONS" and status == 204 and not operation:  # of any path
            return "a body where there should be none" if text else None
        if not response:
            return "the operation or its status is not documented"
        why = self.check_headers(response, exchange["headers"])
        if why:
            return why
        is_replay = status < 300 and "idempotent-replayed" in exchange["headers"]
        if is_replay and "Idempotent-Replayed" not in response.get("headers", {}):
            return "the header Idempotent-Replayed is not documented"
        if exchange["method"] == "HEAD" or "content" not in response:
            self.seen |= set() if text else {(operation, status, None)}
            return "a body where there should be none" if text else None
        kind = next((kind for kind in response["content"] if is_media_type(exchange["content_type"], kind)), None)
        if not kind:
            return f"the content type {exchange['content_type']!r} is not documented"
        try:
            body = strict_json(text or "") if "json" in kind else text
        except ValueError as error:
            return f"the body is not JSON: {error}"
        why = self.misfit(body, response["content"][kind]["schema"])
        if not why and kind == "application/problem+json":
            return self.check_problem(operation, status, body)
        if not why:
            self.seen.add((operation, status, kind))
        return why

    def wanted(self):
        """What the exchanges must cover, each item with the text that reports it as missing."""
        for name, op in self.operations.items():
            for status, response in op["responses"].items():
                if status.startswith("2"):
                    for kind in response.get("content", {None: None}):
                        yield (name, int(status), kind), f"{name}: no good {status} {kind or 'without a body'} was seen"
            for code in op["x-problems"]:
                yield (name, code), f"{name}: the problem {code} was never seen"
        for code in self.common["x-codes"]:
            yield ("code", code), f"the common problem {code} was never seen"
        for (code, words), detail in self.examples.items():
            if code not in self.common["x-rare-codes"]:
                yield ("detail", code, words), f"the example of {code}: no test got a detail like {detail!r}"


def check_file(path):
    """Checks one file. Returns how many exchanges are as documented, the faults of the others, and
    what the file covers.
    """
    passed, failures, contract.seen = 0, [], set()
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").split("\n"), 1):
        exchange = json.loads(line) if line else None
        why = exchange and contract.check(exchange)
        passed += bool(exchange and not why)
        if why:
            failures.append(
                f"{path}:{number}: {exchange['operation'] or '(no route)'}: {exchange['method']} "
                f"{exchange['target'][:200]} {exchange['status']}: {why}"
            )
    return passed, failures, contract.seen


def read_contract(path):
    global contract
    contract = Contract(path)


@functools.cache
def operations_of(pattern):
    """The operations of openapi/PATTERN.yaml, except what another folder of handlers/ handles."""
    top = pathlib.Path(__file__).resolve().parent.parent
    path = top / "openapi" / f"{pattern}.yaml"
    others = "".join(p.read_text() for p in top.glob("handlers/*/*.c") if p.parent.name != pattern)
    handled = set(re.findall(r"^void (\w+)\(struct request", others, re.M))
    return set(re.findall(r"^ +operationId: (\w+)$", path.read_text(), re.M)) - handled if path.exists() else set()


def main(contract_path, paths, pattern):
    passed, failures, seen = 0, [], set()
    recorded = filter(os.path.exists, paths)  # a program without requests records nothing
    with concurrent.futures.ProcessPoolExecutor(initializer=read_contract, initargs=[contract_path]) as workers:
        for good, bad, seen_here in workers.map(check_file, sorted(recorded, key=os.path.getsize, reverse=True)):
            passed, failures, seen = passed + good, failures + bad, seen | seen_here
    notes = []
    for key, missing in Contract(contract_path).wanted():
        if not pattern or key[0] in operations_of(pattern):
            passed += key in seen
            is_note = pattern and len(key) == 2
            (notes if is_note else failures).extend([] if key in seen else [missing])
    print(
        *failures,
        *(f"note: {note} here; `make test` fails unless another test shows it" for note in notes),
        f"{passed} passed, {len(failures)} failed",
        sep="\n",
    )
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pattern")
    parser.add_argument("contract")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    sys.exit(main(given.contract, given.files, given.pattern))
