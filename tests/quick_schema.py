"""Compiles a JSON Schema to a function: `compiled(schema)(value)` returns whether a value matches,
in a hundredth of the time that jsonschema takes. It gives no reason for a mismatch. It knows only
the keywords that the contract uses, and raises an error for any other.
"""
import datetime
import re

ANNOTATIONS = {"description", "title", "example", "examples", "default", "deprecated", "contentEncoding"}
OF_OBJECT = {"properties", "required", "additionalProperties"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": is_number,
    "integer": lambda value: is_number(value) and value == int(value),
}


def is_date(value):
    try:
        return not isinstance(value, str) or bool(value.isascii() and datetime.date.fromisoformat(value))
    except ValueError:
        return False


def equals(value, wanted):
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def of_object(schema, done):
    """The check of properties, required and additionalProperties together."""
    members = {name: compiled(part, done) for name, part in schema.get("properties", {}).items()}
    others = compiled(schema.get("additionalProperties", True), done)
    required = schema.get("required", [])

    def matches(value):
        if not isinstance(value, dict):
            return True
        for name in required:
            if name not in value:
                return False
        for name, member in value.items():
            if not members.get(name, others)(member):
                return False
        return True

    return matches


def of_keyword(name, wanted, done):
    if name == "type":
        kinds = [TYPES[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted)]
        return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)
    if name in ("allOf", "anyOf", "oneOf"):
        parts = [compiled(part, done) for part in wanted]
        if name == "oneOf":
            return lambda value: sum(part(value) for part in parts) == 1
        fold = all if name == "allOf" else any
        return lambda value: fold(part(value) for part in parts)
    if name == "items":
        item = compiled(wanted, done)
        return lambda value: not isinstance(value, list) or all(map(item, value))
    if name == "pattern":
        pattern = re.compile(wanted)
        return lambda value: not isinstance(value, str) or bool(pattern.search(value))
    if name == "format":
        return {"date": is_date, "int32": lambda value: True, "int64": lambda value: True}[wanted]
    return {
        "const": lambda value: equals(value, wanted),
        "enum": lambda value: any(equals(value, one) for one in wanted),
        "minimum": lambda value: not is_number(value) or value >= wanted,
        "maximum": lambda value: not is_number(value) or value <= wanted,
        "minItems": lambda value: not isinstance(value, list) or len(value) >= wanted,
        "maxItems": lambda value: not isinstance(value, list) or len(value) <= wanted,
    }[name]


def compiled(schema, done=None):
    """`done` has the functions of schemas by their ids, since a schema may contain itself."""
    if isinstance(schema, bool):
        return lambda value: schema
    done = {} if done is None else done
    if id(schema) in done:
        return lambda value: done[id(schema)](value)
    done[id(schema)] = None
    names = {name for name in schema if name not in ANNOTATIONS and not name.startswith("x-")}
    rest = sorted(names - OF_OBJECT, key=lambda name: name != "type")
    parts = [of_keyword(name, schema[name], done) for name in rest]
    if names & OF_OBJECT:
        parts.append(of_object(schema, done))
    done[id(schema)] = parts[0] if len(parts) == 1 else lambda value: all(part(value) for part in parts)
    return done[id(schema)]
