"""Tables of the contract's operations, fields and objects, for tools/reference.py."""
import re
import textwrap


def one_line(text):
    """Text as a table's cell."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def resolved(contract, node):
    """What a $ref leads to; what is beside it goes before. (its name or None, the node)"""
    name = None
    while "$ref" in node:
        target, name = contract, node["$ref"].rsplit("/", 1)[1]
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target | {k: v for k, v in node.items() if k != "$ref"}
    return name, node


def anchor(name):
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


class Tables:
    """Of one page: remembers which objects its tables refer to."""

    def __init__(self, contract):
        self.contract, self.queue, self.seen = contract, [], set()

    def refer(self, name):
        if name not in self.seen:
            self.seen.add(name)
            self.queue.append(name)
        return f"[{name}](#{anchor(name)})"

    def members(self, schema):
        """{name: (schema, is required)} of an object, the fields of allOf included."""
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
        kinds = schema.get("type", "object" if "allOf" in schema else "any")
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
        if "enum" in schema:
            found.append(", ".join(f"`{'null' if v is None else v}`" for v in schema["enum"]))
        if "const" in schema:
            found.append(f"`{schema['const']}`")
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None or high is not None:
            found.append(
                f"{low} to {high}" if None not in (low, high) else f"from {low}" if high is None else f"to {high}"
            )
        for key, words in (
            ("x-max-bytes", "at most {} bytes"),
            ("maxLength", "at most {} characters"),
            ("minItems", "at least {} items"),
            ("maxItems", "at most {} items"),
            ("maxProperties", "at most {} members"),
        ):
            if key in schema and not (key == "maxLength" and "x-max-bytes" in schema):
                found.append(words.format(schema[key]))
        if "default" in schema:
            value = schema["default"]
            found.append(f"default {str(value).lower() if isinstance(value, bool) else value}")
        for key, words in (("x-excludes", "not with {}"), ("x-required", "required without {}")):
            if key in schema:
                value = schema[key]
                found.append(words.format(", ".join(value if isinstance(value, list) else [str(value)])))
        return one_line("; ".join(found))

    def description(self, schema):
        return one_line(resolved(self.contract, schema)[1].get("description"))

    def fields(self, schema, is_request):
        rows = ["| field | type | bounds | meaning |", "|---|---|---|---|"]
        for key, (value, is_required) in self.members(resolved(self.contract, schema)[1]).items():
            name = f"`{key}`" + (" **required**" if is_required and is_request else "")
            rows.append(f"| {name} | {self.type_of(value)} | {self.bounds_of(value)} | {self.description(value)} |")
        return rows if len(rows) > 2 else []

    def parameters(self, item, operation):
        rows = []
        for node in [*item.get("parameters", []), *operation.get("parameters", [])]:
            one = resolved(self.contract, node)[1]
            if one["name"] == "X-Request-ID":  # every operation has it
                continue
            schema = one.get("schema", {})
            name = f"`{one['name']}`" + (" **required**" if one.get("required") and one["in"] != "path" else "")
            rows.append(
                f"| {name} | {one['in']} | {self.type_of(schema)} | {self.bounds_of(schema)} | "
                f"{one_line(one.get('description') or self.description(schema))} |"
            )
        return ["| parameter | in | type | bounds | meaning |", "|---|---|---|---|---|", *rows, ""] if rows else []

    def body(self, operation):
        _, body = resolved(self.contract, operation.get("requestBody", {}))
        schema = body.get("content", {}).get("application/json", {}).get("schema")
        if not schema:
            return []
        words = "Body" if body.get("required") else "Body, optional"
        rows = self.fields(schema, True)
        return [f"{words}:", "", *rows, ""] if rows else [f"{words}: {self.type_of(schema)}.", ""]

    def answers(self, operation):
        rows = ["| answer | body | when |", "|---|---|---|"]
        for status, node in operation["responses"].items():
            answer = resolved(self.contract, node)[1]
            if status == "default":
                continue
            kinds = [
                self.type_of(content["schema"])
                for kind, content in answer.get("content", {}).items()
                if "schema" in content and kind != "application/problem+json"
            ]
            rows.append(f"| {status} | {', '.join(kinds)} | {one_line(answer['description'])} |")
        problems = operation.get("x-problems", [])
        listed = ", ".join(f"`{code}`" for code in problems)
        return [*rows, "", f"Problems: {listed}, and [the codes of every operation](../errors.md)." if listed else "", ""]

    def objects(self):
        """A table for each object that was referred to, and for those that these refer to."""
        out = []
        while self.queue:
            name = self.queue.pop(0)
            schema = self.contract["components"]["schemas"][name]
            rows = self.fields(schema, False)
            words = textwrap.fill(one_line(schema.get("description")), 100, break_on_hyphens=False)
            out += [f"### {name}", "", words, "", *rows, ""]
        return ["## Objects", "", *out] if out else []
