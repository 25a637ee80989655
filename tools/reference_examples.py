"""The contract's examples as curl commands and answers, for tools/reference.py."""
import http
import json
import re
import shlex
import urllib.parse

from reference_fields import resolved

ADDRESS = "http://127.0.0.1:8379"
WIDTH = 100
LINES = 14  # of a body; in a longer body "..." replaces the rest
# Optional parameters that an example shows, because the operation needs one of several, or the
# answer shows their effect.
SHOWN = {
    "lock_release": ["Lock-Token"],
    "set_combine": ["intersect"],
    "geo_nearby_list": ["longitude", "latitude", "radius", "unit"],
}
# Which of several named bodies an example shows: the body of the shown answer.
BODIES = {"queue_schedule_put": "cron"}
# Which of several named answers an example shows.
ANSWERS = {"queue_patch": "changed", "queue_schedule_patch": "changed"}
# Headers that a proxy sends.
SENT = {
    "ratelimit_authorize": [("X-Real-IP", "203.0.113.7")],
    "ratelimit_path_authorize": [("X-Real-IP", "203.0.113.7")],
}
NOT_SHOWN = {"Idempotent-Replayed", "Patternd-Source"}  # headers of replays, and of replicas


# Python before 3.13 has the names of older RFCs.
RFC_9110 = {413: "Content Too Large", 414: "URI Too Long", 422: "Unprocessable Content"}


def phrase(status):
    return RFC_9110.get(int(status)) or http.HTTPStatus(int(status)).phrase


def value_of(node):
    """The first example of a parameter, a header or a content; None: it has none."""
    if "example" in node:
        return node["example"]
    return next((named["value"] for named in node.get("examples", {}).values()), None)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def wrapped_json(text, width=WIDTH):
    """Lines of JSON without white space, broken behind commas; further ones begin with a blank."""
    parts = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^",])+,?', text)
    lines = [""]
    for part in parts:
        if lines[-1].strip() and len(lines[-1]) + len(part) > width:
            lines.append(" ")
        lines[-1] += part
    return lines


def shown_body(value, kind):
    """The lines of a body of an answer."""
    lines = value.strip().split("\n") if isinstance(value, str) and "json" not in kind else wrapped_json(compact(value))
    return lines if len(lines) <= LINES else [*lines[:LINES], " ..."]


def response_of(contract, operation):
    """(status, response) that an example shows: 201 if there is one, else the first success."""
    found = {s: resolved(contract, r)[1] for s, r in operation["responses"].items() if str(s).startswith("2")}
    status = "201" if "201" in found else next(iter(found))
    return status, found[status]


def target(path, values, query):
    """The URL of a request, quoted for a shell where it must be."""
    for name, value in values.items():
        tail = "/" if name == "tail" else ""
        path = path.replace(f"{{{name}}}", urllib.parse.quote(str(value), safe=":@" + tail))
    pairs = [(name, one) for name, value in query for one in (value if isinstance(value, list) else [value])]
    return shlex.quote(ADDRESS + path + ("?" + urllib.parse.urlencode(pairs, safe=":,*/") if pairs else ""))


def command(method, headers, body, url):
    """The lines of a curl command."""
    own = {"GET": "", "any method": "", "POST": "" if body is not None else " -X POST"}
    parts = ["$ curl -i" + own.get(method, f" -X {method}")]
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers]
    if body is not None:
        parts.append("--json " + "\n".join(wrapped_json(shlex.quote(compact(body)), WIDTH - 12)))
    lines = [""]
    for part in [*parts, url]:
        room = WIDTH - 2 - len(lines[-1].split("\n")[-1])
        if lines[-1] and len(part.split("\n")[0]) + 1 > room:
            lines.append("    " + part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return " \\\n".join(lines).split("\n")


def location(contract, path, values, answer):
    """The path of the resource that a request created: a path below its own path, or its own path
    without the last segment.
    """
    below = [p for p in contract["paths"] if re.fullmatch(re.escape(path) + r"/\{\w+\}", p)]
    names = {**values, **next(iter(answer.get("messages", [])), {}), **answer}
    return re.sub(r"\{(\w+)\}", lambda m: str(names[m[1]]), below[0] if below else path.rpartition("/")[0])


def header_value(contract, name, header, path, values, answer):
    if name == "Location":
        return location(contract, path, values, answer)
    value = str(value_of(header))
    policy = answer.get("policy") if isinstance(answer, dict) else None
    return value.replace('"default"', f'"{policy}"') if policy else value


def example(contract, method, path, operation):
    """The lines of a block that shows a request and its answer."""
    parameters = [resolved(contract, n)[1] for n in operation["parameters"]]
    status, response = response_of(contract, operation)
    kind, content = next(iter(response.get("content", {}).items()), ("", {}))
    wanted = ANSWERS.get(operation["operationId"])
    answer = content["examples"][wanted]["value"] if wanted else value_of(content)
    values, query, headers = {}, [], list(SENT.get(operation["operationId"], []))
    for one in parameters:
        name, value = one["name"], value_of(one) or value_of(resolved(contract, one["schema"])[1])
        if one["in"] == "path":
            values[name] = answer[name] if isinstance(answer, dict) and name in answer else value
        elif one.get("required") or name in SHOWN.get(operation["operationId"], []):
            (query if one["in"] == "query" else headers).append((name, value))
    body = resolved(contract, operation["requestBody"])[1] if "requestBody" in operation else None
    if body:
        named = body["content"]["application/json"]
        wanted = BODIES.get(operation["operationId"])
        body = named["examples"][wanted]["value"] if wanted else value_of(named)
    out = ["```http", *command(method, headers, body, target(path, values, query))]
    out.append(f"HTTP/1.1 {status} {phrase(status)}")
    if kind and kind != "application/json":
        out.append(f"Content-Type: {kind}")
    for name, node in response.get("headers", {}).items():
        header = resolved(contract, node)[1]
        if name not in NOT_SHOWN:
            out.append(f"{name}: {header_value(contract, name, header, path, values, answer)}")
    return [*out, *([""] + shown_body(answer, kind) if content else []), "```", ""]
