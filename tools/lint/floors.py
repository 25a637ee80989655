#!/usr/bin/env python3
"""Lint: each folder is a floor, and includes only the lower floors that its row of FLOORS names.

FLOORS is the table of ARCHITECTURE.md. Each include of our own headers is written with its folder
("topology/node.h"). A file and its header are one unit. Units do not include each other in a
circle. By the symbols of the release build, they do not call each other in a circle either; calls
to a higher floor go through a function pointer. In service/ the first comment of a unit, in its
header if it has one, states its boundary: what it must not know, or only does.

To comply: move the function to the floor that may know both, or hand the lower floor a callback. To
change a rule: change FLOORS, and the table in ARCHITECTURE.md with it.
"""
import pathlib
import re
import sys

import objects
import tree

# {folder of service/: the folders that it may include in addition to itself}. The files at the root
# of service/ start and stop the program, and may include all folders.
FLOORS = {
    "core": "",
    "json": "core",
    "process": "core json",
    "net": "core process",
    "redis": "core net process",
    "topology": "core net process redis",
    "request": "core json process",
    "contract": "core json request process",
    "access": "core request contract process",
    "call": "core json redis request process topology",
    "wait": "core redis request call process topology",
    "outbound": "core process",
    "http": "core net request contract access process",
}
# A boundary in the first comment of a file.
HEAD = re.compile(r"\s*/\*(.*?)\*/", re.S)
BOUNDARY = re.compile(r"\bmust\s+(?:\* )?not\b|\bonly\b|\bpure\b", re.I)
# What every folder of handlers/ may include in addition to itself, and what single folders may
# include as well.
HANDLERS = "common core json process request contract call wait"
MORE = {"daemon": "http redis net topology outbound", "push": "outbound"}
# The only file at the root of handlers/, which opens all of them.
OPENS_ALL = "patterns.c"
# Headers that the build generates; all folders may include them.
GENERATED = {"operations.h", "scripts.h", "version.h"}
# A library's header (or a folder of headers), and the only files that include it.
WRAPPERS = {
    "microhttpd.h": [
        "service/http/server.c",
        "service/http/head.c",
        "service/http/response.c",
        "service/http/https.c",
    ],
    "gnutls/": ["service/http/https.c", "service/net/tls.c"],
    "curl/": ["service/outbound/curl_library.h"],
    "hiredis/": ["service/redis/reply_reader.c"],
    "nettle/": ["service/core/digest.c", "service/access/access.c"],
    "xxhash.h": [
        "handlers/bloom/bloom.c",
        "handlers/geo/geo_call.c",
        "handlers/push/push_refusals.c",
        "handlers/sets/combine.c",
        "service/call/list_scan.c",
        "service/json/tree.c",
    ],
    "sys/socket.h": [
        "service/http/http.c",
        "service/http/server.c",
        "service/http/response.c",
        "service/net/lingering_close.c",
        "service/http/client.c",
        "service/net/acceptor.c",
        "service/net/listener.c",
        "service/check.c",
        "service/redis/socket.c",
        "service/process/notify.c",
        "service/outbound/loopback.c",
        "service/outbound/outbound_socket.c",
    ],
}
# The only unit of redis/ that every handler may use: replies.
FOR_HANDLERS = {"service/redis/reply"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def folder_of(path):
    return path.parts[1] if len(path.parts) > 2 else ""


def may_include(path):
    """The folders that a file may include, or None: all."""
    folder = folder_of(path)
    if path.parts[0] == "service":
        return {folder, *FLOORS[folder].split()} if folder else None
    if not folder:
        return None if path.name == OPENS_ALL else set(HANDLERS.split())
    return {folder, *HANDLERS.split(), *MORE.get(folder, "").split()}


def why_not(path, quoted, name):
    """What is wrong with this include, or None."""
    for header, allowed in WRAPPERS.items():
        if (name == header or header.endswith("/") and name.startswith(header)) and str(path) not in allowed:
            return f"{name} may be included by {', '.join(allowed)} only"
    allowed = may_include(path)
    if not quoted or name in GENERATED or allowed is None:
        return None
    folder, _, rest = name.partition("/")  # a pattern's folder may have folders of topics
    if not rest:
        return None if name == "patterns.h" else f'write the folder of "{name}"'
    return (
        None
        if folder in allowed
        else f'{folder_of(path) or path.parts[0]}/ must not know {folder}/, but includes "{name}"'
    )


def unit_of(path):
    """x.c, x.h and x_private.h are one; so are the files that share x_private.h."""
    return re.sub(r"_private$", "", str(path.with_suffix("")))


def circles(edges):
    """Each strongly connected set of more than one, smallest first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(edges.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            group, stack[at:] = stack[at:], []
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10000)
    for v in sorted(edges):
        if v not in index:
            visit(v)
    return sorted(found, key=len)


lint = tree.Lint(
    "Move the function to a folder that may know both, or hand the lower folder a callback. "
    "In the first comment of a header of service/ write what its unit must not know. "
    "The rules: FLOORS, HANDLERS, MORE, BOUNDARY and WRAPPERS of tools/lint/floors.py, and the table of ARCHITECTURE.md."
)
includes, uses = {}, {}
sources = tree.files("service", ".c", ".h", ".def") + tree.files("handlers", ".c", ".h")
headers = {str(p).split("/", 1)[1]: unit_of(p) for p in sources if p.suffix == ".h"}
for path in sources:
    text = path.read_text()
    head = HEAD.match(text)
    states_boundary = path.parts[0] == "service" and (path.suffix == ".h" or not path.with_suffix(".h").exists())
    if states_boundary and path.suffix != ".def" and not (head and BOUNDARY.search(head[1])):
        lint.finding(path, 1, "the first comment does not state what the unit must not know")
    for line in INCLUDE.finditer(tree.code_of(text)):
        quoted, name = line.group(1) == '"', line.group(2)
        why = why_not(path, quoted, name)
        if why:
            lint.finding(path, tree.line_of(text, line.start()), why)
        if quoted and name in headers and headers[name] != unit_of(path):
            includes.setdefault(unit_of(path), set()).add(headers[name])
found = {pathlib.Path(source): names for source, names in objects.symbols().items() if "generated" not in source}
definer = {name: source for source, (names, _) in found.items() for name in names}
for path, (_, names) in found.items():
    for name in sorted(n for n in names if n in definer):
        used, allowed = unit_of(definer[name]), may_include(path)
        if used == unit_of(path):
            continue
        uses.setdefault(unit_of(path), set()).add(used)
        is_shared = path.parts[0] == "handlers" and used in FOR_HANDLERS
        if allowed is not None and folder_of(definer[name]) not in allowed and not is_shared:
            lint.finding(path, 1, f"uses {name} of {definer[name]}, which its folder must not know")
for edges, how in ((includes, "include"), (uses, "use")):
    for group in circles(edges):
        lint.finding(
            group[0],
            1,
            f"{len(group)} units {how} each other in a circle: {', '.join(group)}; hand one of them a callback",
        )
lint.done()
