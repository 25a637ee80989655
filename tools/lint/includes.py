#!/usr/bin/env python3
"""Fence: who may include whom. One wrapper a library, handlers -> service, and never a handler from a handler."""
import pathlib
import re

import tree

# A header (or a folder of headers) and the only files that include it.
WRAPPERS = {
    "microhttpd.h": ["service/http_server.c", "service/http_answer.c", "service/http_handshake.c"],
    "gnutls/": ["service/http_tls.c"],
    "hiredis/": ["service/redis_reply.c"],
    "openssl/": ["service/digest.c", "service/access.c", "service/check.c", "service/tls.c"],
    "xxhash.h": ["handlers/bloom.c", "handlers/geo_call.c", "service/json_read.c"],
    "zstd.h": ["service/packed.c"],
    "sys/socket.h": ["service/http.c", "service/http_server.c", "service/http_answer.c", "service/lingering_close.c", "service/conn.c", "service/gate.c",
                     "service/listener.c", "service/check.c", "service/link_socket.c", "service/resp.c",
                     "service/notify.c"],
}
# A header of handlers/ that is no part of a family (queue_call.h for queue*.c), and who includes it.
SHARED = {"days.h": ["handlers/uv_call.h", "handlers/checkins.c", "handlers/days.c"],
          "base64.h": ["handlers/bitmaps.c", "handlers/base64.c"]}
UMBRELLA = ["handler.h", "keys.h"]
# Opens whatever pattern has something to open: defines service/patterns.h, and knows each pattern's header.
OPENS_ALL = "handlers/patterns.c"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def why_not(path, quoted, name):
    """What is wrong with this line, or None."""
    for header, allowed in WRAPPERS.items():
        if (name == header or header.endswith("/") and name.startswith(header)) and str(path) not in allowed:
            return f"{name} may be included by {', '.join(allowed)} only"
    if not quoted:
        return None
    if str(path) == OPENS_ALL:
        return None
    in_handlers = pathlib.Path("handlers", pathlib.Path(name).name).exists()
    if path.parts[0] == "service":
        return f"service/ knows no handler, but this is {name}" if in_handlers or "handlers" in name else None
    if not name.endswith(".h") or "/" in name:
        return f"a handler includes headers by their bare name, not {name}"
    if not in_handlers:
        return None if path.suffix == ".h" else f"a handler takes service/ through handler.h, not {name}"
    if name in UMBRELLA:
        return None
    if name in SHARED:
        return None if str(path) in SHARED[name] else f"{name} may be included by {', '.join(SHARED[name])} only"
    family = name.removesuffix(".h").split("_")[0]
    return None if path.name.startswith(family) else f"{name} belongs to the files {family}*.c"


fence = tree.Fence()
for path in tree.files("service", ".c", ".h", ".def") + tree.files("handlers", ".c", ".h"):
    text = path.read_text()
    for line in INCLUDE.finditer(tree.code_of(text)):
        why = why_not(path, line.group(1) == '"', line.group(2))
        if why:
            fence.finding(path, tree.line_of(text, line.start()), why)
fence.done()
