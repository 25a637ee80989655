#!/usr/bin/env python3
"""tools/openapi.py reports each fault of a contract with file, line, method and path, and never by
a traceback. tools/assemble.py reports each fault of a script with its file.
"""
import contextlib
import io
import pathlib
import re
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import embed_scripts  # noqa: E402
import openapi  # noqa: E402

CONTRACT = """paths:
  /stacks/{name}:
    parameters:
      - $ref: '#/components/parameters/Name'
    post:
      operationId: stack_push
      x-effect: writes
      x-scope: ['stacks:{name}:write', 'stacks:{below}:read', 'vaults:{spare.vault}:take if spare']
      x-problems: [stack_full]
      x-replay: stack_full
      parameters:
        - {name: Idempotency-Key, in: header, schema: {type: string, x-max-bytes: 9}}
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 9, default: 1}}
        - {name: status, in: query, schema: {type: integer, enum: [429, 403], default: 429}}
        - {name: share, in: query, schema: {type: number, minimum: 0, maximum: 1}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [items]
              properties:
                items: {type: array, minItems: 1, maxItems: 9, items: {type: string, x-max-bytes: 9}}
                counts: {type: object, maxProperties: 2,
                         propertyNames: {type: string, x-name: true, x-part: stacks, x-max-bytes: 9},
                         additionalProperties: {type: integer, minimum: 1, maximum: 9}}
                below: {type: string, x-name: true, x-max-bytes: 9}
                spare: {anyOf: [{$ref: '#/components/schemas/Spare'}, {type: "null"}]}
                kind: {type: string, enum: [a, b], x-excludes: [items]}
                ttl: {type: [integer, "null"], minimum: 1, maximum: 9}
                part: {anyOf: [{$ref: '#/components/schemas/Part'}, {type: "null"}]}
      responses:
        '200': {$ref: '#/components/responses/Stack'}
    get:
      operationId: stack_look
      x-effect: reads
      x-scope: 'stacks:{name}:read'
      responses:
        '204': {description: Empty.}
  /stacks/{name}/top:
    parameters:
      - $ref: '#/components/parameters/Name'
    get:
      operationId: stack_top_get
      x-effect: reads
      x-scope: 'stacks:{name}:read'
      x-problems: [NoStack]
      responses:
        '204': {description: Empty.}
        '409': {description: Another daemon pushes., request_in_progress: "the first request still waits"}
  /vaults:
    get:
      operationId: vault_list
      x-effect: reads
      x-scope: 'vaults:list'
      responses:
        '204': {description: Empty.}
components:
  parameters:
    Name: {name: name, in: path, required: true, schema: {type: string, x-name: true, x-max-bytes: 9}}
  responses:
    Stack: {description: The stack., content: {application/json: {schema: {$ref: '#/components/schemas/Stack'}}}}
    NoStack: {description: There is none., not_found: there is no stack 'a'}
  schemas:
    ProblemCode: {type: string, enum: [stack_full, not_found, request_in_progress]}
    Problem: {type: object}
    Cursor: {type: [string, "null"]}
    StackList: {x-list: items, items: Stack, description: The stacks.}
    Stack: {type: object}
    Spare:
      type: object
      additionalProperties: false
      required: [vault, slot]
      properties: {vault: {type: string, x-name: true, x-max-bytes: 9},
                   slot: {type: string, x-name: true, x-max-bytes: 9, x-part: vaults}}
    Part: {type: object, additionalProperties: false, properties: {n: {type: integer, minimum: 1, maximum: 9}}}
x-synonyms: {items: [elements], b: [bee], stacks: [piles]}
"""
# What the bundle makes of the shorter forms of openapi/.
BUNDLED = [
    ("openapi.json", text)
    for text in (
        '"x-problems":["not_found","request_in_progress"]',
        '"404":{"$ref":"#/components/responses/NoStack"}',
        '"example":{"type":"/problems/not_found","title":"Resource not found","status":404,"detail":"there is no stack \'a\'",'
        '"code":"not_found","effect":"none","request_id":"6f1c2a9be07d4c35"}',
        '"StackList":{"type":"object","required":["items","next_cursor"],"properties":{"items":{"type":"array",'
        '"description":"The stacks.","items":{"$ref":"#/components/schemas/Stack"}},'
        '"next_cursor":{"$ref":"#/components/schemas/Cursor"}}}',
    )
]
# Changes to the text of the contract, and the error of the generator for each.
WRONG = [
    (
        '[integer, "null"], minimum',
        '[integer, "null"], default: 1, minimum',
        r":\d+: .*stack_push.ttl: null is for members of a body",
    ),
    (
        "{type: string, x-name: true, x-max-bytes: 9}}",
        "{type: string, x-name: true, x-max-bytes: 9, x-logged: true}}",
        r":\d+: .*name: x-logged is for a text in a body",
    ),
    (
        "{type: object, maxProperties: 2,",
        "{type: object, x-max-bytes: 9, maxProperties: 2,",
        r":\d+: .*stack_push.counts: x-max-bytes of an object is for texts",
    ),
    (
        "{n: {type: integer,",
        "{m: {type: string, x-max-bytes: 9}, n: {type: integer, x-per: m,",
        r":\d+: .*stack_push_part.n: x-per must name an integer behind it in the body",
    ),
    (
        "kind: {type: string, enum: [a, b]",
        "kind: {type: integer, enum: [1, 2]",
        r":\d+: .*stack_push.kind: an enum of integers is for parameters",
    ),
    (
        "x-scope: 'stacks:{name}:read'",
        "x-scope: 'stack:{name}:read'",
        r":\d+: .*stack_look: the scope 'stack:\{name\}:read' must start with a segment of a path, such as stacks",
    ),
    (
        "'stacks:{below}:read', ",
        "",
        r":6: .*stack_push: below is a name: x-scope must have the scope that it needs, or x-part what it is a part of",
    ),
    (
        ", 'vaults:{spare.vault}:take if spare']",
        "]",
        r":6: .*stack_push: spare.vault is a name: x-scope must have the scope that it needs",
    ),
    (
        "{type: string, x-name: true, x-max-bytes: 9, x-part: vaults}",
        "{type: object, maxProperties: 2, propertyNames: {type: string, x-name: true, x-max-bytes: 9}, "
        "additionalProperties: {type: boolean}}",
        r":6: .*stack_push: spare.slot.key is a name: x-scope must have the scope that it needs",
    ),
    (
        "x-part: stacks",
        "x-part: true",
        r":6: .*stack_push: counts.key: x-part must be none, or a kind whose scope has a name \(none, stacks, vaults\), not True",
    ),
    (
        "stacks:{name}:write', 'stacks:{below}:read', 'vaults:{spare.vault}:take if spare']",
        "stacks:{name}:write', 'stacks:{below}:read', 'stacks:{spare.vault}:take if spare']",
        r":6: .*stack_push: spare.slot: x-part must be .* \(none, stacks\), not 'vaults'",
    ),
    (
        "take if spare",
        "take",
        r":6: .*stack_push: the scope 'vaults:\{spare.vault\}:take' needs ` if spare`, because a request may leave spare",
    ),
    (
        "take if spare",
        "take unless spare",
        r":6: .*stack_push: the scope '.* unless spare' needs a flag at its end, or `if` and its name or an object",
    ),
    ("{spare.vault}", "{items}", r":6: .*stack_push: the scope 'vaults:\{items\}:.*' needs a name in its braces"),
    ("{spare.vault}", "{part.n}", r":6: .*stack_push: the scope 'vaults:\{part.n\}:.*' needs a name in its braces"),
    ("{spare.vault}", "{counts.key}", r":6: .*stack_push: the scope '.*': counts is neither a list nor an object"),
    ("        required: true\n", "", r":\d+: .*stack_push: a body with required members is itself required: true"),
    ("      operationId: stack_push\n", "", r":6: POST /stacks/\{name\}: 'operationId' is missing"),
    (
        "operationId: stack_look",
        "operationId: stack_push",
        r":6: POST /stacks/\{name\}: stack_push: another operation has this",
    ),
    (
        "- $ref: '#/components/parameters/Name'",
        "- $ref: '#/components/parameters/Nam'",
        r":4: GET /stacks/\{name\}: \$ref '#/components/parameters/Nam': there is no 'Nam'",
    ),
    (
        "schema: {$ref: '#/components/schemas/Stack'}",
        "schema: {$ref: '#/components/schemata/Stack'}",
        r":64: components: \$ref '#/components/schemata/Stack': there is no 'schemata'",
    ),
    ("maxItems: 9, ", "", r":25: POST /stacks/\{name\}: 'maxItems' is missing"),
    (
        "minimum: 1, maximum: 9, default: 1",
        "minimum: 1",
        r":\d+: POST /stacks/\{name\}: stack_push.limit: an integer needs minimum and maximum",
    ),
    (
        "/stacks/{name}:\n",
        "/stacks/{names}:\n",
        r":37: GET /stacks/\{names\}: stack_look: no parameter is in: path and named names",
    ),
    (
        "x-effect: writes\n",
        "x-effect: writes\n      x-stale: true\n",
        r":6: POST /stacks/\{name\}: stack_push: x-stale must be true, and is for operations whose x-effect is reads",
    ),
    (
        "x-problems: [stack_full]",
        "x-problems: [stack_full, stack_empty]",
        r":6: POST /stacks/\{name\}: stack_push: x-problems names stack_empty, which ProblemCode of openapi/root.yaml lacks",
    ),
    (
        "      x-replay: stack_full\n",
        "",
        r":6: POST /stacks/\{name\}: stack_push: takes an Idempotency-Key, so x-replay must be",
    ),
    ("x-replay: stack_full", "x-replay: stack_gone", r":6: .*x-replay names stack_gone, which x-problems lacks"),
    ("name: Idempotency-Key, in", "name: If-Match, in", r":6: .*x-replay is for operations that take an Idempotency-Key"),
    ("b: [bee]", "c: [bee]", r":\d+: the whole: x-synonyms: no request has a field, a value or a segment of a path 'c'"),
    ("not_found: there", "not_fond: there", r":\d+: the whole: errors.def has no code not_fond"),
    ("request_in_progress: ", "not_found: ", r":\d+: the whole: a code of this response has the status 404"),
    ("x-problems: [NoStack]", "x-problems: [Stack]", r":\d+: the whole: x-problems names Stack, which has no code"),
    ("x-list: items", "x-list: pages", r":\d+: the whole: x-list must be one of items, keys, names"),
    ("paths:\n", "paths: [\n", r":\d+: "),
]

# A script and the module that it uses, changes to their text, and the error of the build for each.
SCRIPT = """--@plain
local item, most = ARGV[1], ARGV[2]
if most == '' then
  local size = redis.call('LPUSH', KEYS[1], item)
  reply = { 1, now, size }
end
--@operation
local item, most = ARGV[1], tonumber(ARGV[2])
local size = stack_add(KEYS[1], item)
if most and size > most then
  local last = ARGV[3]
  redis.call('LTRIM', KEYS[1], '0', last)
end
for i = 4, #ARGV do
  redis.call('LPUSH', KEYS[1], ARGV[i])
end
return { 1, now, size }
"""
MODULE = """local STACK_MOST = 9
local function stack_add(key, item)
  return redis.call('LPUSH', key, item)
end
"""
WRONG_SCRIPTS = [
    (
        "'LPUSH', KEYS[1], item)",
        "'LPUSH', KEYS[1], ARGV[1])",
        r"/stack_push.lua: its plain block: an argument has one name: .* ARGV\[1\]",
    ),
    (
        "stack_add(KEYS[1], item)",
        "stack_add(KEYS[1], ARGV[1])",
        r"/stack_push.lua: operation stack_push: an argument has one name: .* ARGV\[1\]",
    ),
    ("  redis.call('LTRIM'", "  last = ARGV[5]\n  redis.call('LTRIM'", r"/stack_push.lua: .* has one name: .* ARGV\[5\]"),
    ("'LPUSH', key, item)", "'LPUSH', key, ARGV[1])", r"/lib_stack.lua: stack_add: an argument has one name: .* ARGV\[1\]"),
    ("local last", "local STACK_MOST", r"/stack_push.lua: operation stack_push: .* hides STACK_MOST of .*/lib_stack.lua"),
    ("  local size", "  local known", r"/stack_push.lua: its plain block: .* hides known, which is the script's"),
    ("most == ''", "stack_add()", r"/stack_push.lua: a plain block calls no function of a module: stack_add"),
    ("  reply = {", "  return {", r"/stack_push.lua: a plain block does not return"),
]


def reported_for(text):
    """The error of the generator for a contract, None when it accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "openapi", "root.yaml")
        path.parent.mkdir()
        path.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                openapi.main(path, folder)
            except SystemExit as end:
                return str(end)
    return None


def reported_for_script(script, module):
    """The error of the build for a script and its module, None when it accepts them."""
    with tempfile.TemporaryDirectory() as folder:
        lua = pathlib.Path(folder, "lua")
        (lua / "stacks").mkdir(parents=True)
        (lua / "lib").symlink_to(ROOT / "lua" / "lib")
        (lua / "stacks" / "stack_push.lua").write_text(script)
        (lua / "stacks" / "lib_stack.lua").write_text(module)
        try:
            embed_scripts.scripts_of(embed_scripts.operations_of(lua), lua)
        except SystemExit as end:
            return str(end)
    return None


def wrong_scripts():
    """What is reported otherwise than WRONG_SCRIPTS expects."""
    for old, new, wanted in [("", "", "^nothing$"), *WRONG_SCRIPTS]:
        assert old in SCRIPT + MODULE, old
        script = SCRIPT.replace(old, new, 1)
        module = MODULE if script != SCRIPT else MODULE.replace(old, new, 1)
        reported = reported_for_script(script, module) or "nothing"
        if not re.search(wanted, reported):
            yield f"{old.strip()!r} -> {new.strip()!r}: {reported}"


def missing():
    """The items of BUNDLED that the generator does not write."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "openapi", "root.yaml")
        path.parent.mkdir()
        path.write_text(CONTRACT)
        openapi.main(path, folder)
        written = {file: pathlib.Path(folder, file).read_text() for file, _ in BUNDLED}
        return [f"{file} lacks {text}" for file, text in BUNDLED if text not in written[file]]


def without_each(node, path=()):
    """The path of each member and element of a document."""
    for name in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []:
        yield (*path, name)
        yield from without_each(node[name], (*path, name))


def main():
    failures = [f"the contract of this test is refused: {reported_for(CONTRACT)}"] if reported_for(CONTRACT) else []
    failures += [*missing(), *wrong_scripts()]
    for old, new, wanted in WRONG:
        assert old in CONTRACT, old
        reported = reported_for(CONTRACT.replace(old, new, 1)) or "nothing"
        failures += (
            [] if re.search("openapi/root.yaml" + wanted, reported) else [f"{old.strip()!r} -> {new.strip()!r}: {reported}"]
        )
    count = 0
    for *path, name in without_each(yaml.safe_load(CONTRACT)):
        document = parent = yaml.safe_load(CONTRACT)
        for step in path:
            parent = parent[step]
        del parent[name]
        count += 1
        try:
            reported = reported_for(yaml.safe_dump(document, sort_keys=False))
            wrong = reported and not re.search(r"openapi/root.yaml:\d+: ", reported)
        except Exception as fault:  # the generator must not print a traceback
            reported = wrong = repr(fault)
        failures += [f"without {'.'.join(map(str, [*path, name]))}: {reported}"] if wrong else []
    print(*failures, f"{len(WRONG) + count} contracts, {len(WRONG_SCRIPTS)} scripts, {len(failures)} failed", sep="\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
