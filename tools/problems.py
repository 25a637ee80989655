"""Problems in the contract. openapi/*.yaml has the code of a problem and the `detail` of an
example; all else is in service/request/errors.def.

A response without `content` is a response of problems. Each member beside `description`, `headers`,
`schema` and x-... is a code. Its value is the detail of its example, or a mapping with `detail` and
what else the example has, or nothing, if other codes are example enough. Without `schema` it has
the schema Problem; a schema must fit each of the codes.

The x-problems of an operation are codes, and names of such responses (components/responses), which
bring their codes and their status. So do responses of problems below `responses`. An operation
without one of status 400 gets ReservedName or Malformed.
"""
import pathlib
import re

DEFINITIONS = pathlib.Path(__file__).resolve().parent.parent / "service/request/errors.def"
ROW = r'\w+,\s*"(\w+)",\s*(\d+),\s*EFFECT_(\w+),\s*RETRY_(\w+),\s*"([^"]*)",\s*(.*)'
SCHEMA = {"$ref": "#/components/schemas/Problem"}
REQUEST_ID = "6f1c2a9be07d4c35"


def rows():
    """(code, status, effect, retry, title, help) of each row of errors.def."""
    for row in re.findall(r"^PROBLEM\((.*?)\)$", DEFINITIONS.read_text(), re.M | re.S):
        code, status, effect, retry, title, words = re.fullmatch(ROW, row, re.S).groups()
        yield code, status, effect.lower(), retry.lower(), title, "".join(re.findall(r'"([^"]*)"', words))


KNOWN = {code: (place, int(status), title, effect) for place, (code, status, effect, _, title, _) in enumerate(rows())}


def codes_of(response):
    """The codes of a response of problems; none of another response."""
    if {"content", "$ref"} & set(response):
        return []
    return [m for m in response if m in KNOWN]


def status_of(codes):
    """The status of a response with these codes."""
    return str(KNOWN[codes[0]][1])


def example(code, given):
    _, status, title, effect = KNOWN[code]
    given = dict(given) if isinstance(given, dict) else {"detail": given}
    detail, effect = given.pop("detail"), given.pop("effect", effect)
    whole = {"type": f"/problems/{code}", "title": title, "status": status, "detail": detail}
    return whole | {"code": code, "effect": effect, "request_id": REQUEST_ID} | given


def fault(response, status=None):
    """What is wrong with a response of problems; None if nothing is."""
    if {"content", "$ref"} & set(response):
        return None
    for member in response:
        if member not in KNOWN and member not in ("description", "headers", "schema") and not member.startswith("x-"):
            return f"errors.def has no code {member}"
    statuses = {str(KNOWN[code][1]) for code in codes_of(response)}
    if status and statuses - {status}:
        return f"a code of this response has the status {min(statuses - {status})}"
    return None


def expand(response):
    """Makes a response of problems one of OpenAPI, in place."""
    codes = codes_of(response)
    if not codes:
        return
    shown = {code: example(code, response[code]) for code in codes if response[code] is not None}
    body = {"schema": response.pop("schema", dict(SCHEMA))}
    if len(shown) == 1:
        body["example"] = shown.popitem()[1]
    else:
        body["examples"] = {code: {"value": value} for code, value in shown.items()}
    for code in codes:
        del response[code]
    response["content"] = {"application/problem+json": body}


def in_order(codes):
    """Codes as errors.def has them, each once; an unknown one is last."""
    return sorted(dict.fromkeys(codes), key=lambda code: KNOWN.get(code, (len(KNOWN),))[0])
