"""Makes the tables of the contract's operations, fields and objects for tools/reference.py."""
import json
import re
import textwrap


WORDS_OF_A_CELL = 45
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z`\[*])")
REQUIRED = " **required**"


def one_line(text):
    """Text as a table's cell."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def cut(text):
    """(the first sentences, which have at most WORDS_OF_A_CELL, the others)."""
    first, *others = SENTENCE.split(text)
    while others and len(f"{first} {others[0]}".split()) <= WORDS_OF_A_CELL:
        first += " " + others.pop(0)
    return first, " ".join(others)


def table(heads, rows):
    """A table, and below it a list of what is too long for its last column. No row: nothing."""
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    more = []
    for *cells, words in rows:
        short, rest = cut(words)
        out.append(f"| {' | '.join([*cells, short])} |")
        if rest:
            item = f"- {cells[0].removesuffix(REQUIRED)}: {rest}"
            wrap = {"subsequent_indent": "  ", "break_on_hyphens": False, "break_long_words": False}
            more.append(textwrap.fill(item, 100, **wrap))
    return out + ["", *more] * bool(more) if rows else []


def resolved(contract, node):
    """(name or None, node): the node to which a $ref points, where members beside the $ref take
    precedence.
    """
    name = None
    while "$ref" in node:
        target, name = contract, node["$ref"].rsplit("/", 1)[1]
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target | {k: v for k, v in node.items() if k != "$ref"}
    return name, node


def anchor(name):
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


# Keywords of a schema: (minimum, maximum, unit).
SIZES = (
    ("minLength", "x-max-bytes", "bytes"),
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "items"),
    ("minProperties", "maxProperties", "members"),
)
POWERS = {sign * (2**n - 1): f"{'-' if sign < 0 else ''}(2^{n} - 1)" for n in (53, 63) for sign in (1, -1)}
POWERS |= {2**32 - 1: "2^32 - 1", 2**53 - 1: "2^53 - 1"}
LONGEST_ENUM = 30  # ProblemCode has a page of its own
PAGE_OF_KEYS = "../reference.md#headers-of-requests"
KEYS = {"Idempotency-Key", "Idempotency-TTL-Ms"}
REPLAYS = {
    "done": "the first response",
    "current": "what is still granted of the first response",
    "window": "the first response until its window has passed; then the limit decides again",
}
PROBLEM = "../errors.md#members"
COMMON = "../errors.md#codes-of-every-operation"


def plain(value):
    """A number without an exponent."""
    return f"{value:f}".rstrip("0") if "e" in str(value) and isinstance(value, float) else value


def linked_code(code):
    return f"[`{code}`](../errors.md#{code})"


class Tables:
    """The tables of one page. It remembers to which objects they refer."""

    def __init__(self, contract):
        self.contract, self.queue, self.seen = contract, [], set()

    def refer(self, name):
        if name not in self.seen:
            self.seen.add(name)
            self.queue.append(name)
        return f"[{name}](#{anchor(name)})"

    def members(self, schema):
        """{name: (schema, is required)} of an object, including the fields of allOf."""
        found = {}
        for part in schema.get("allOf", []):
            found |= self.members(resolved(self.contract, part)[1])
        required = schema.get("required", [])
        for key, value in schema.get("properties", {}).items():
            found[key] = (value, key in required)
        return found

    def type_of(self, schema):
        name, schema = resolved(self.contract, schema)
        if schema.get("x-any"):
            return "any JSON"
        for word in ("oneOf", "anyOf"):
            kinds = [self.type_of(one) for one in schema.get(word, []) if set(one) - {"required", "not", "properties"}]
            if kinds:
                return " or ".join(dict.fromkeys(kinds))
        if name and self.members(schema):
            return self.refer(name)
        kinds = "boolean" if isinstance(schema.get("const"), bool) else "object" if "allOf" in schema else "any"
        kinds = schema.get("type", kinds)
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "array" in kinds:
            items = self.type_of(schema.get("items", {}))
            return " or ".join(["array of " + items, *(k for k in kinds if k != "array")])
        if "object" in kinds and isinstance(schema.get("additionalProperties"), dict):
            return "object of " + self.type_of(schema["additionalProperties"])
        return " or ".join(kinds)

    def bounds_of(self, schema):
        """Default and range."""
        _, schema = resolved(self.contract, schema)
        found = []
        if "enum" in schema and len(schema["enum"]) <= LONGEST_ENUM:
            found.append(", ".join(f"`{'null' if v is None else v}`" for v in schema["enum"]))
        if "const" in schema:
            found.append(f"`{json.dumps(schema['const']).strip(chr(34))}`")
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None or high is not None:
            low, high = (POWERS.get(value, plain(value)) for value in (low, high))
            found.append(
                f"{low} to {high}" if None not in (low, high) else f"from {low}" if high is None else f"to {high}"
            )
        for least, most, unit in SIZES:
            if most in schema and not (most == "maxLength" and "x-max-bytes" in schema):
                low = schema.get(least, 0)
                span = f"{low} to {schema[most]}" if low else f"at most {schema[most]}"
                found.append(f"{schema[most] if low == schema[most] else span} {unit}")
            elif least in schema and least != "minLength":
                found.append(f"at least {schema[least]} {unit}")
        if "default" in schema:
            value = schema["default"]
            found.append(f"default {str(value).lower() if isinstance(value, bool) else value}")
        others = ", ".join(f"`{name}`" for name in schema.get("x-excludes", []))
        if others:
            needed = "; required without" if schema.get("x-required") else ""
            found.append(f"not with {others}" + (f"{needed} {'them' if ',' in others else 'it'}" if needed else ""))
        return one_line("; ".join(found))

    def description(self, schema):
        return one_line(resolved(self.contract, schema)[1].get("description"))

    def fields(self, schema, is_request, left_out=()):
        rows = []
        for key, (value, is_required) in self.members(resolved(self.contract, schema)[1]).items():
            name = f"`{key}`" + (REQUIRED if is_required and is_request else "")
            if key not in left_out:
                rows.append((name, *self.cells_of({"schema": value})))
        return table(("field", "type", "bounds", "meaning"), rows)

    def cells_of(self, parameter):
        """Type, bounds and meaning."""
        schema = parameter.get("schema", {})
        words = one_line(parameter.get("description") or self.description(schema))
        return self.type_of(schema), self.bounds_of(schema), words

    def parameters(self, operation):
        """A table of the parameters in query and headers, and the answer to a repeated request."""
        rows = []
        for node in operation["parameters"]:
            one = resolved(self.contract, node)[1]
            if one["in"] == "path" or one["name"] in KEYS | {"X-Request-ID", "Patternd-Name"}:
                continue
            name = f"`{one['name']}`" + (REQUIRED if one.get("required") else "")
            rows.append((name, one["in"], *self.cells_of(one)))
        out = [*table(("parameter", "in", "type", "bounds", "meaning"), rows), ""] if rows else []
        replay = operation.get("x-replay")
        if replay:
            what = REPLAYS.get(replay) or f"the first response while the grant lasts, then {linked_code(replay)}"
            out += [f"Takes an [`Idempotency-Key`]({PAGE_OF_KEYS}): a repeated request gets {what}.", ""]
        return out

    def paths(self, operations):
        """A table of the names in paths: each is described once for all paths that have it."""
        found = {}
        for _, _, path, operation in operations:
            for node in operation["parameters"]:
                one = resolved(self.contract, node)[1]
                if one["in"] == "path":
                    name = f"{{{one['name']}}}"
                    found.setdefault((name, self.cells_of(one)), {})[path.partition(name)[0] + name] = True
        rows = [(", ".join(f"`{p}`" for p in paths), *cells) for (_, cells), paths in found.items()]
        return [*table(("path", "type", "bounds", "meaning"), rows), ""] if rows else []

    def body(self, operation):
        _, body = resolved(self.contract, operation.get("requestBody", {}))
        schema = body.get("content", {}).get("application/json", {}).get("schema")
        if not schema:
            return []
        words = "Body" if body.get("required") else "Body, optional"
        rows = self.fields(schema, True)
        return [f"{words}:", "", *rows, ""] if rows else [f"{words}: {self.type_of(schema)}.", ""]

    def own_problems(self, schema):
        """(name, schema) of the objects of a problem that have further members."""
        for part in resolved(self.contract, schema)[1].get("oneOf", [schema]):
            name, one = resolved(self.contract, part)
            if name and self.own_members(one):
                yield name, one

    def own_members(self, schema):
        """The members that a problem has beside the common ones, and the ones that it redefines."""
        found = set()
        for part in schema.get("allOf", []):
            name, one = resolved(self.contract, part)
            found |= set() if name == "Problem" else set(self.members(one))
        return found - {"code"}

    def answers(self, operation):
        rows = []
        for status, node in operation["responses"].items():
            shared, answer = resolved(self.contract, node)
            if status == "default" or status == "400" and shared:  # the list of problems has this status
                continue
            kinds = []
            for kind, content in answer.get("content", {}).items():
                is_problem = kind == "application/problem+json"
                own = [self.type_of(content["schema"])]
                if is_problem:
                    own = [self.refer(name) for name, _ in self.own_problems(content["schema"])]
                kinds += own or [f"[problem]({PROBLEM})"]
            rows.append((status, ", ".join(kinds), one_line(answer["description"])))
        problems = ", ".join(map(linked_code, operation.get("x-problems", [])))
        listed = f"Problems: {problems + ', and ' if problems else ''}[the codes of every operation]({COMMON})."
        if len(rows) == 1:
            return [f"Answer: {' '.join(word for word in rows[0][:2] if word)}. {rows[0][2]}", "", listed, ""]
        return [*table(("answer", "body", "when"), rows), "", listed, ""]

    def objects(self):
        """A table for each object to which the page refers, directly or through other objects."""
        out = []
        while self.queue:
            name = self.queue.pop(0)
            schema = self.contract["components"]["schemas"][name]
            is_problem = any(resolved(self.contract, part)[0] == "Problem" for part in schema.get("allOf", []))
            common = self.members(self.contract["components"]["schemas"]["Problem"]) if is_problem else {}
            rows = self.fields(schema, False, (set(common) - self.own_members(schema)) | {"code"} if is_problem else ())
            words = textwrap.fill(one_line(schema.get("description")), 100, break_on_hyphens=False)
            more = f"It has the [members of every problem]({PROBLEM}), and:" if is_problem else ""
            out += [f"### {name}", "", words, "", *([more, ""] if more else []), *rows, ""]
        return ["## Objects", "", *out] if out else []
