#!/usr/bin/env python3
"""Turns openapi/ into C: typed inputs, field rows, operations, handler prototypes, and the JSON
that is served.

The output has only const tables and declarations, no control flow. Requests may have flat objects,
scalars, enums (of integers in parameters only), one level of array or object, maps (an object whose
additionalProperties is a schema), and `x-any: true` (any JSON). Anything else in a request stops
the build. `type: [integer, string]` is an integer that may also be sent as text of decimal digits,
for clients that cannot write 2^53 and more as a number. If a member of a body may also be null
(`type: [integer, "null"]`, or `anyOf: [schema, {type: "null"}]`), null resets it, as in RFC 7396.
The handler then gets `reset_x` beside `has_x`, and neither if the member is absent. Of the other
optional members, a null in a body of POST or PUT counts as absent, unless they are any JSON.

    x-name: true        the string follows the rule of names
    x-max-bytes         its largest length in bytes; of an object of texts: of all names and values
                        together
    x-bytes: true       the string is a name of any bytes but NUL, not only UTF-8; not in a body
    x-reserved: [...]   names that are refused
    x-effect            reads | writes, one per operation
    x-plain: true       a name of letters, digits and ._- only
    x-forwarded: true   of an operation: proxies call it with their client's request; it accepts
                        any method and reads no body
    x-tail: true        of an operation: its last path parameter is the rest of the path, which is
                        not checked
    x-excludes: [...]     members of the body that it cannot be combined with; x-required: true
                          makes it required without them
    x-logged: true      of a member of a body: a text that the access log shows under its name
    x-per: member       of an integer: the later member that is its period, also an integer. The
                        error for a fraction suggests whole numbers with the same rate.
    x-scope: ...        of an operation: the scopes that a token needs, one or a list of
                        `kind:{field}:action`, or `kind:action` without a name; or `any` token, or
                        `none`. {field} is a parameter or member, {list.member} a member of each
                        item of a list, {object.member} a member of an object. ` if flag` or
                        ` unless flag` may follow, also ` if field` an optional name, and
                        ` if object` must follow a member of an optional object. Every operation
                        must have it.
    x-replay: ...       only of an operation that takes an Idempotency-Key: the answer to a
                        repeated request: done | current | window, or the problem once the grant
                        has ended. A response that lets a client proceed is never `done`.
    x-stale: true       of an operation that reads: a replica may serve it
    x-synonyms: {...}   of the document: a field, a value or a segment of a path, and the words of
                        other systems for it
    x-part: KIND        a name that is a part of a resource of this kind, such as a member. x-scope
                        must have a scope for a name of the kind. `none`: the name is of nothing in
                        Redis. Every name of a request that is not in x-scope must have x-part.
"""
import pathlib
import re
import sys

import contract as contract_file
from c_literal import c_literal, c_rows, write_changed
from contract import METHODS, Node, Wrong, follow

# Headers that the daemon itself reads; they are not part of any input.
MACHINE_HEADERS = {"idempotency-key", "idempotency-ttl-ms", "x-request-id", "if-match", "if-none-match", "traceparent",
                   "patternd-name"}  # fmt: skip
# For each verb of an operation with x-kind, the input of handlers/common/kind.h and its members.
KIND_INPUTS = {
    "get": ("kind_name_input", ["name"]),
    "delete": ("kind_name_input", ["name"]),
    "patch": ("kind_patch_input", ["name", "ttl_ms"]),
    "list": ("kind_list_input", ["match", "cursor", "limit"]),
}
# Keywords of C: a member with such a name gets a trailing _.
C_WORDS = {"default", "double", "float", "int", "long", "register", "short", "static", "switch", "union", "volatile"}
SCOPE = re.compile(r"([a-z]+):(?:\{([a-z_]+)(?:\.([a-z_]+))?\}:)?([a-z_]+)(?: (if|unless) ([a-z_]+))?")


def fail(where, why):
    raise Wrong(f"{where}: {why}")


def ident(name):
    name = name.replace("-", "_").lower()
    return name + "_" if name in C_WORDS else name


def is_map(schema):
    return isinstance(schema.get("additionalProperties"), dict)


def c_int(n):
    return "INT64_MIN" if n == -(2**63) else f"INT64_C({n})"  # as a plain literal it would not be an int64_t


def c_list(items):
    return "(const char *const[]){ " + "".join(c_literal(i) + ", " for i in items) + "NULL }"


def c_texts(items):
    return "(const struct text[]){ " + "".join(f"{{ {c_literal(i)}, {len(i)} }}, " for i in items) + "}"


def names_of(fields, prefix=""):
    """Each field that is a name, at any depth, with its members joined by dots."""
    for f in fields:
        if f["named"]:
            yield prefix + f["name"], f
        yield from names_of(f["inner"], f"{prefix}{f['name']}.")


class Contract:
    def __init__(self, path):
        self.doc = contract_file.load(path)
        self.header, self.rows, self.names, self.headers = [], [], set(), {}
        self.tables = set()  # kinds of x-kind
        self.words = set()  # names of fields, values of enumerations, and segments of paths
        self.place, self.at = "the whole", None  # of the part that is being read, for error messages
        self.merges = False  # the operation that is being read is a PATCH
        # The kinds that a scope may name: for /ratelimit/policies/{name} either ratelimit or
        # policies.
        self.kinds = {s for p in self.doc["paths"] for s in p.split("/") if re.fullmatch("[a-z]+", s)}

    def resolve(self, node):
        return follow(self.doc, node)

    def follow_all(self, node):
        """Checks that every $ref below a node has a target, also where no C is generated."""
        if isinstance(node, Node) and isinstance(node.get("$ref"), str):
            self.resolve(node)
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
            self.follow_all(inner)

    def without_null(self, s):
        """Returns the schema without the null that it allows beside another type, and whether it
        allowed null.
        """
        either, kinds, made = s.get("anyOf", []), s.get("type"), Node(s)
        made.at = s.at
        if len(either) == 2 and either[1].get("type") == "null":
            made.update(self.resolve(either[0]))
        elif isinstance(kinds, list) and "null" in kinds:
            kinds = [k for k in kinds if k != "null"]
            made["type"] = kinds[0] if len(kinds) == 1 else kinds
            if "enum" in s:
                made["enum"] = [v for v in s["enum"] if v is not None]
        else:
            return s, False
        return made, True

    def field(self, prefix, name, schema, place, required):
        """One field descriptor: a dict of what the C initialiser and the struct member need."""
        s, nullable = self.without_null(self.resolve(schema))
        where, kind = f"{prefix}.{name}", s.get("type")
        as_text = kind == ["integer", "string"]
        f = {
            "name": name,
            "member": ident(name),
            "place": place,
            "required": required,
            "default": s.get("default"),
            "extra": "",
            "companion": False,
            "reset": False,
            "named": s.get("x-name") or s.get("x-bytes"),
            "part": s.get("x-part"),
            "any": False,
            "inner": [],
        }
        optional = not required and "default" not in s
        self.words |= {name, *map(str, s.get("enum", []))}
        if s.get("x-any"):
            f.update(kind="FIELD_ANY", ctype="struct text ", any=True)
        elif "enum" in s:
            enum, choices = f"{prefix}_{f['member']}", [str(v) for v in s["enum"]]
            if kind == "integer" and place == "IN_BODY":
                fail(where, "an enum of integers is for parameters, which come as text")
            self.header.append(
                "enum %s {%s };"
                % (enum, "".join(f" {enum.upper()}_{ident(v).upper()} = {i}," for i, v in enumerate(choices, 1)))
            )
            if s.get("default", s["enum"][0]) not in s["enum"]:
                fail(where, f"the default {s['default']!r} is none of the enum")
            default = s["enum"].index(s["default"]) + 1 if "default" in s else 0
            f.update(
                kind="FIELD_CHOICE",
                ctype=f"enum {enum} ",
                extra=f".choices = {c_list(choices)}, .default_value = {default}, ",
            )
        elif kind == "string":
            if "x-max-bytes" not in s:
                fail(where, "a string needs x-max-bytes")
            if s.get("x-bytes") and place == "IN_BODY":
                fail(where, "JSON cannot carry any bytes")
            f.update(
                kind="FIELD_NAME" if s.get("x-name") else "FIELD_BYTES" if s.get("x-bytes") else "FIELD_TEXT",
                ctype="struct text ",
                extra=f".low = {s.get('minLength', 0)}, .high = {s['x-max-bytes']}, ",
            )
            if s.get("x-logged") and (place != "IN_BODY" or s.get("x-name")):
                fail(where, "x-logged is for a text in a body")
            if s.get("x-logged"):
                f["extra"] += ".logged = true, "
            if "x-reserved" in s:
                f["extra"] += f".reserved = {c_list(s['x-reserved'])}, "
            if s.get("x-plain"):
                f["extra"] += ".plain = true, "
            if s.get("format") == "date":
                f["extra"] += ".date = true, "
        elif kind == "integer" or as_text:
            if "minimum" not in s or "maximum" not in s:
                fail(where, "an integer needs minimum and maximum")
            f.update(
                kind="FIELD_INT",
                ctype="int64_t ",
                companion=optional,
                extra=f".low = {c_int(s['minimum'])}, "
                f".high = {c_int(s['maximum'])}, .default_value = {c_int(s.get('default', 0))}, "
                + ".or_digits = true, " * as_text,
            )
        elif kind == "number":
            f.update(
                kind="FIELD_REAL",
                ctype="double ",
                companion=optional,
                extra=f".real_low = {float(s['minimum'])!r}, .real_high = {float(s['maximum'])!r}, "
                f".real_default = {float(s.get('default', 0))!r}, ",
            )
        elif kind == "boolean":
            f.update(
                kind="FIELD_BOOL",
                ctype="bool ",
                companion=optional,
                extra=f".default_value = {int(s.get('default', False))}, ",
            )
        elif is_map(s):
            entry = f"{prefix}_{f['member']}_entry"
            fields = [
                self.field(entry, n, s[of], "IN_BODY", True)
                for n, of in (("key", "propertyNames"), ("value", "additionalProperties"))
            ]
            fields[1].update(companion=False, reset=False)  # a null value is an absent text
            is_text = fields[1]["kind"] == "FIELD_TEXT"  # core/text.h declares this type
            if ".nullable" in fields[1]["extra"] and not (is_text and self.merges):
                fail(where, "null removes a text of a map in a PATCH, and has no other use in a map")
            if "x-max-bytes" in s and not is_text:
                fail(where, "x-max-bytes of an object is for texts")
            pair = self.struct(entry, fields, "text_pair" if is_text else None)
            f.update(
                kind="FIELD_MAP",
                inner=pair["fields"],
                ctype="struct text_pairs " if is_text else f"struct {{ size_t count; struct {entry} *items; }} ",
                extra=f"{pair['row']}.low = {s.get('minProperties', 0)}, .high = {s['maxProperties']}, "
                f".most_bytes = {s.get('x-max-bytes', 0)}, ",
            )
        elif kind == "object":
            inner = self.struct(f"{prefix}_{f['member']}", self.properties(f"{prefix}_{f['member']}", s))
            f.update(
                kind="FIELD_OBJECT",
                inner=inner["fields"],
                ctype=f"struct {inner['name']} ",
                companion=True,
                extra=inner["row"],
            )
        elif kind == "array":
            item = self.field(f"{prefix}_{f['member']}", "item", s["items"], place, True)
            name = f"{prefix}_{f['member']}_array"
            rows = self.emit_rows(name, [item], None)
            size = f"sizeof({item['ctype'].strip()})"
            f.update(
                kind="FIELD_ARRAY",
                named=item["named"],
                part=f["part"] or item["part"],
                any=item["any"],
                inner=item["inner"],
                ctype=f"struct {{ size_t count; {item['ctype']}*items; }} ",
                extra=f".fields = {rows}, .field_count = 1, .size = {size}, "
                f".low = {s.get('minItems', 0)}, .high = {s['maxItems']}, "
                f".distinct = {str(s.get('uniqueItems', False)).lower()}, ",
            )
            if s.get("uniqueItems") and (
                s["maxItems"] > 100
                or place != "IN_BODY"
                or item["kind"] not in ("FIELD_TEXT", "FIELD_NAME", "FIELD_INT")
            ):
                fail(where, "uniqueItems are compared each with each: at most 100 scalars, in a body")
        else:
            fail(where, f"the generator knows no {kind!r} here")
        f["any"] = f["any"] or any(i["any"] for i in f["inner"])
        if nullable and (place != "IN_BODY" or "default" in s or s.get("x-any")):
            fail(where, "null is for members of a body that have no default: it resets them")
        if nullable:
            f.update(companion=True, reset=True, extra=f["extra"] + ".nullable = true, ")
        f["excludes"] = s.get("x-excludes", [])
        f["per"] = s.get("x-per") if f["kind"] == "FIELD_INT" else None
        return f

    def properties(self, prefix, schema):
        if schema.get("additionalProperties") is not False:
            fail(prefix, "an object in a request needs additionalProperties: false")
        required, fields = schema.get("required", []), []
        for n, p in schema.get("properties", {}).items():
            f = self.field(prefix, n, p, "IN_BODY", n in required or p.get("x-required", False))
            # Typed clients write null for a member that is not set, and so do our own answers.
            if not self.merges and n not in required and not f["reset"] and f["kind"] != "FIELD_ANY":
                f["extra"] += ".null_is_absent = true, "
            fields.append(f)
        return fields

    def emit_rows(self, name, fields, struct):
        """The const array of rows; offsets are into `struct`, or 0 for the single item of an
        array.
        """
        out = [f"static const struct field {name}_rows[] = {{"]
        index = {f["name"]: i for i, f in enumerate(fields) if f["place"] == "IN_BODY"}
        for i, f in enumerate(fields):
            if any(index.get(u, i) >= i for u in f["excludes"]):
                fail(f"{name}.{f['name']}", "what x-excludes names must stand before it")
            if i >= 64 or any(index[u] >= 16 for u in f["excludes"]):
                fail(name, "more than 64 fields, or more than 16 before what x-excludes names")
            if f["excludes"]:
                f["extra"] += f".excludes = {sum(1 << index[u] for u in f['excludes']):#x}, "
            if f["per"]:
                if fields[index.get(f["per"], i)]["kind"] != "FIELD_INT" or index.get(f["per"], i) <= i:
                    fail(f"{name}.{f['name']}", "x-per must name an integer behind it in the body")
                f["extra"] += f".per = {index[f['per']] + 1}, "
            offset = f"offsetof(struct {struct}, {f['member']})" if struct else "0"
            has = f"offsetof(struct {struct}, has_{f['member']})" if struct and f["companion"] else "NO_OFFSET"
            out.append(
                f"\t{{ .name = {c_literal(f['name'])}, .place = {f['place']}, .kind = {f['kind']}, "
                f".required = {str(f['required']).lower()}, .offset = {offset}, .has_offset = {has}, "
                f"{f['extra']}}},"
            )
        self.rows += out + ["};"] if fields else []
        return f"{name}_rows" if fields else "NULL"

    def struct(self, name, fields, declared=None):
        """A struct and its rows; `declared` is the name of a struct that a header of the service
        declares already.
        """
        members = []
        for f in fields:
            if f["companion"]:
                members.append(f"\tbool has_{f['member']}{', reset_' + f['member'] if f['reset'] else ''};")
            members.append(f"\t{f['ctype']}{f['member']};")
        if not declared:
            self.header.append(f"struct {name} {{\n" + "\n".join(members or ["\tchar unused;"]) + "\n};")
        rows = self.emit_rows(name, fields, declared or name)
        return {
            "name": name,
            "rows": rows,
            "fields": fields,
            "row": f".fields = {rows}, .field_count = {len(fields)}, .size = sizeof(struct {declared or name}), ",
        }

    def scope_field(self, name, text, wanted, fields):
        """The field that a scope names; None if it names none."""
        found = [f for f in fields if f["name"] == wanted]
        if wanted and not found:
            fail(name, f"the scope {text!r} names a field {wanted!r} that is not there")
        return found[0] if wanted else None

    def scope(self, name, text, fields):
        """The row of one scope, its kind, and the name that it is about: "" if it is about none."""
        form = SCOPE.fullmatch(str(text))
        if not form:
            fail(name, f"x-scope must be none, any, kind:action or kind:{{field}}:action, not {text!r}")
        kind, field, inner, action, word, flag = form.groups()
        if kind not in self.kinds:
            fail(name, f"the scope {text!r} must start with a segment of a path, such as {min(self.kinds)}")
        outer = self.scope_field(name, text, field, fields)
        name_of = self.scope_field(name, text, inner, outer["inner"]) if inner else outer
        on, what = self.scope_field(name, text, flag, fields), outer and outer["kind"]
        if field and not name_of["named"] or inner and name_of["kind"] != "FIELD_NAME":
            fail(name, f"the scope {text!r} needs a name in its braces")
        is_given = on and (on["kind"] == "FIELD_OBJECT" or on["kind"] == "FIELD_NAME" and flag == field)
        if flag and on["kind"] != "FIELD_BOOL" and not (is_given and word == "if"):
            fail(name, f"the scope {text!r} needs a flag at its end, or `if` and its name or an object")
        if inner and what not in ("FIELD_ARRAY", "FIELD_OBJECT"):
            fail(name, f"the scope {text!r}: {field} is neither a list nor an object")
        if inner and what == "FIELD_OBJECT" and not outer["required"] and (word, flag) != ("if", field):
            fail(name, f"the scope {text!r} needs ` if {field}`, because a request may leave {field} out")
        at = [fields.index(outer) if field else -1, outer["inner"].index(name_of) if inner else -1]
        at.append(fields.index(on) if flag else -1)
        row = (
            f"{{ {c_literal(kind)}, {c_literal(action)}, "
            f"{at[0]}, {at[1]}, {at[2]}, {str(word == 'if').lower()} }}, "
        )
        return row, kind, f"{field}.{inner}" if inner else field or ""

    def scopes(self, op, fields):
        """The rows of the scopes that a token needs, and whether the operation needs a token at
        all. Each name of the request must have a scope, or be a part of something that has one.
        """
        name, written = op["operationId"], op.get("x-scope")
        texts = [] if written in ("any", "none") else written if isinstance(written, list) else [written]
        scopes = [self.scope(name, text, fields) for text in texts]
        used, kinds = {at for _, _, at in scopes if at}, {kind for _, kind, at in scopes if at}
        for at, f in names_of(fields):
            if at in used:
                continue
            if not f["part"]:
                fail(name, f"{at} is a name: x-scope must have the scope that it needs, or x-part what it is a part of")
            if f["part"] != "none" and f["part"] not in kinds:
                kinds = ", ".join(["none", *sorted(kinds)])
                fail(name, f"{at}: x-part must be none, or a kind whose scope has a name ({kinds}), not {f['part']!r}")
        rows = "".join(row for row, _, _ in scopes)
        return (
            f".scopes = {'(const struct needed_scope[]){ ' + rows + '}' if rows else 'NULL'}, "
            f".scope_count = {len(scopes)}, .needs_token = {str(written != 'none').lower()},"
        )

    def replay(self, name, op, parameters):
        """As C: the answer to a repeated Idempotency-Key, and the problem once a grant has ended.
        """
        takes_key = any(p["name"].lower() == "idempotency-key" for p in parameters)
        kind = op.get("x-replay")
        if takes_key and kind is None:
            fail(name, "takes an Idempotency-Key, so x-replay must be done, current, window or a problem code")
        if kind is None:
            return "REPLAY_NONE", "P_INTERNAL"
        if not takes_key:
            fail(name, "x-replay is for operations that take an Idempotency-Key")
        if kind in ("done", "current", "window"):
            return {"done": "REPLAY_DONE", "current": "REPLAY_GRANT", "window": "REPLAY_WINDOW"}[kind], "P_INTERNAL"
        if kind not in op.get("x-problems", []):
            fail(name, f"x-replay names {kind}, which x-problems lacks")
        return "REPLAY_GRANT", f"P_{kind.upper()}"

    def kind(self, name, kind, fields):
        """The struct of the input of an operation with x-kind, and the call that runs it."""
        verb = name.removeprefix(f"{kind}_")
        declared, members = KIND_INPUTS.get(verb, ("", None))
        if [f["member"] for f in fields] != members:
            fail(name, f"x-kind is for {kind}_get, _patch, _delete and _list with the inputs of handlers/common/kind.h")
        if kind not in self.tables:
            self.tables.add(kind)
            self.rows.append(f"extern const struct kind {kind}_kind;")
        return declared, f"kind_{verb}(req, &{kind}_kind, in)"

    def operation(self, path, method, op):
        self.follow_all(op)
        name = op["operationId"]
        if name in self.names:
            fail(name, "another operation has this operationId")
        self.names.add(name)
        parameters = [self.resolve(p) for p in op["parameters"]]
        order = [s[1:-1] for s in path.strip("/").split("/") if s.startswith("{")]
        in_path = {p["name"]: p for p in parameters if p["in"] == "path"}
        rest = [p for p in parameters if p["in"] != "path" and p["name"].lower() not in MACHINE_HEADERS]
        self.headers |= {p["name"].lower(): p["name"] for p in rest if p["in"] == "header"}
        tail = op.get("x-tail", False)
        order = order[:-1] if tail else order
        if set(order) - in_path.keys():
            fail(name, f"no parameter is in: path and named {', '.join(sorted(set(order) - in_path.keys()))}")
        fields = [
            self.field(name, p["name"], p["schema"], "IN_" + p["in"].upper(), p.get("required", False))
            for p in [in_path[n] for n in order] + rest
        ]
        body, self.merges = op.get("requestBody"), method == "patch"
        if body:
            schema = self.resolve(self.resolve(body)["content"]["application/json"]["schema"])
            if schema.get("required") and not self.resolve(body).get("required"):
                fail(name, "a body with required members is itself required: true")
            fields += self.properties(name, schema)
        if "x-replay" in op and any(f["place"] == "IN_HEADER" and f["kind"] != "FIELD_TEXT" for f in fields):
            fail(name, "its headers must be strings: with an Idempotency-Key they are part of the request's fingerprint")
        declared, run = self.kind(name, op["x-kind"], fields) if "x-kind" in op else (None, f"{name}(req, in)")
        self.struct(f"{name}_input", fields, declared)
        if not declared:
            self.header.append(f"void {name}(struct request *req, const struct {name}_input *in);\n")
        if op.get("x-effect") not in ("reads", "writes"):
            fail(name, "x-effect must be reads or writes")
        if op.get("x-stale", False) is not False and (op["x-stale"] is not True or op["x-effect"] != "reads"):
            fail(name, "x-stale must be true, and is for operations whose x-effect is reads")
        for code in op.get("x-problems", []):
            if code not in self.doc["components"]["schemas"]["ProblemCode"]["enum"]:
                fail(name, f"x-problems names {code}, which ProblemCode of openapi/root.yaml lacks")
        replay, ended = self.replay(name, op, parameters)
        success = [self.resolve(r) for code, r in op["responses"].items() if str(code).startswith("2")]
        types = list(dict.fromkeys(t for r in success for t in r.get("content", {})))
        segments = ["" if s.startswith("{") else s for s in path.strip("/").split("/")][: -1 if tail else None]
        self.words |= {*segments}
        self.rows.append(f"static void run_{name}(struct request *req, const void *in)\n{{\n\t{run};\n}}")
        return (
            f"\t{{ .id = {c_literal(name)}, .method = {c_literal(method.upper())}, .segments = {c_texts(segments)}, .segment_count = {len(segments)},\n"
            f"\t  .fields = {f'{name}_input_rows' if fields else 'NULL'}, .field_count = {len(fields)}, "
            f".input_size = sizeof(struct {declared or f'{name}_input'}), .takes_body = {str(bool(body)).lower()}, "
            f".needs_body = {str(bool(body and self.resolve(body).get('required'))).lower()}, "
            f".takes_any = {str(any(f['any'] for f in fields)).lower()}, "
            f".merges = {str('application/merge-patch+json' in self.resolve(body or {}).get('content', {})).lower()},\n"
            f"\t  {self.scopes(op, fields)}\n"
            f"\t  .forwarded = {str(op.get('x-forwarded', False)).lower()}, .tail = {str(tail).lower()},\n"
            f"\t  .replay = {replay}, .grant_ended = {ended}, .writes = {str(op['x-effect'] == 'writes').lower()}, "
            f".stale = {str(op.get('x-stale', False)).lower()}, "
            f".media_type = {c_literal(types[0]) if types else 'NULL'}, "
            f".other_type = {c_literal(types[1]) if len(types) > 1 else 'NULL'}, .run = run_{name} }},"
        )

    def synonyms(self):
        """The rows of x-synonyms: each word that other systems use, and the name of the same thing
        here.
        """
        rows = []
        for known, words in self.doc.get("x-synonyms", {}).items():
            if known not in self.words:
                fail("x-synonyms", f"no request has a field, a value or a segment of a path {known!r}")
            rows += [f"\t{{ {{ {c_literal(w)}, {len(w)} }}, {c_literal(known)} }}," for w in words]
        return rows

    def generate(self, out):
        table, resources = [], {}
        self.place = "components"
        self.follow_all(self.doc["components"])
        for path, item in self.doc["paths"].items():
            self.place = path
            segment = path.strip("/").split("/")[0]
            if segment in resources and segment != list(resources)[-1]:
                raise Wrong(f"the paths of /{segment} must be side by side", item.at)
            resources.setdefault(segment, len(table))
            for method in METHODS:
                if method in item:
                    self.place, self.at = f"{method.upper()} {path}", item[method].at
                    table.append(self.operation(path, method, item[method]))
        ends = [*list(resources.values())[1:], len(table)]
        self.place, self.at = "the whole", None
        synonyms = self.synonyms()
        served = contract_file.dump(self.doc)
        (out / "openapi.json").write_text(served)
        write_changed(
            out / "operations.h",
            "\n".join(
                [
                    "/* Generated by tools/openapi.py from openapi/. */",
                    "#ifndef PATTERND_OPERATIONS_H",
                    "#define PATTERND_OPERATIONS_H",
                    "",
                    '#include "request/operation.h"',
                    "",
                    "struct request;",
                    "",
                    f"enum {{ OPERATION_HEADERS = {len(self.headers)} }};",
                    "",
                    *self.header,
                    "#endif",
                    "",
                ]
            )
        )
        (out / "operations.c").write_text(
            "\n".join(
                [
                    "/* Generated by tools/openapi.py from openapi/. */",
                    '#include "operations.h"',
                    "",
                    '#include "common/kind.h"',
                    "",
                    *self.rows,
                    "",
                    "const struct operation operations[] = {",
                    *table,
                    "};",
                    f"const size_t operation_count = {len(table)};",
                    "",
                    "const struct resource resources[] = {",
                    *[
                        f"\t{{ {{ {c_literal(s)}, {len(s)} }}, operations + {i}, {end - i} }},"
                        for (s, i), end in zip(resources.items(), ends)
                    ],
                    "};",
                    f"const size_t resource_count = {len(resources)};",
                    "",
                    "const struct synonym synonyms[] = {",
                    *(synonyms or ["\t{ { NULL, 0 }, NULL },"]),
                    "};",
                    f"const size_t synonym_count = {len(synonyms)};",
                    "",
                    "const struct text operation_headers[] = {",
                    *[f"\t{{ {c_literal(name)}, {len(name)} }}," for name in self.headers.values()],
                    "};",
                    "",
                    f"static const char contract[] =\n{c_rows(served)};",
                    "const struct text openapi_json_text = { contract, sizeof(contract) - 1 };",
                    "",
                ]
            )
        )


def main(path, out):
    path, out = pathlib.Path(path), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    contract = None
    try:
        contract = Contract(path)
        contract.generate(out)
    except Wrong as wrong:
        at = wrong.at or contract and contract.at or f"openapi/{path.name}:1"
        sys.exit(f"{at}: {contract.place if contract else 'the whole'}: {wrong}")


if __name__ == "__main__":
    main(*sys.argv[1:])
