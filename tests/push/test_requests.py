#!/usr/bin/env python3
"""A program receives the body byte for byte, headers that no sender can forge, and a signature."""
import base64
import hashlib
import hmac
import json
import pathlib
import socket
import tempfile
import time
import urllib.parse

from pushing import OK, App, Daemon, main, quoted, wait_for

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OWN = {
    "host", "user-agent", "content-type", "content-length", "patternd-queue", "patternd-message-id",
    "patternd-receives", "patternd-sent-at-ms", "patternd-deadline-ms",
}  # fmt: skip


def push(daemon, app, queue, **message):
    """Sends this message, and returns the request that the program receives."""
    status, _, told = daemon.ask("POST", f"/queues/{quoted(queue)}/messages", {"messages": [message]})
    assert status == 201, told
    message_id = urllib.parse.quote(told["messages"][0]["id"], safe="-._~")
    return wait_for(lambda: app.pushes(message_id), what=message_id)[0]


def names(request):
    return [h[0].lower().rstrip(":") for h in request.raw_headers]


def test_request():
    with App() as app, Daemon({"q": app}) as daemon:
        sent_ms = time.time() * 1000
        request = push(daemon, app, "q", body={"a": 1})
        assert request.line == "POST /jobs HTTP/1.1", request.line
        assert set(names(request)) == OWN and len(names(request)) == len(OWN), names(request)
        assert request.header("Host") == f"127.0.0.1:{app.port}"
        assert request.header("Content-Type") == "application/json"
        assert request.header("Patternd-Queue") == "q" and request.header("Patternd-Receives") == "1"
        assert abs(int(request.header("Patternd-Sent-At-Ms")) - sent_ms) < 5000
        assert 25000 < int(request.header("Patternd-Deadline-Ms")) - time.time() * 1000 < 31000
        request = push(daemon, app, "q", body=1, group="g/1 ü", traceparent=TRACE, headers={"tenant": "acme"})
        assert request.header("Patternd-Group") == "g%2F1%20%C3%BC"
        assert request.header("traceparent") == TRACE
        assert request.header("Patternd-Header-tenant") == "acme"


def test_bodies():
    """Bodies arrive byte for byte as they were sent."""
    bodies = ["1.10", "1e5", "123456789012345678901234567890", '"\\u00e9\\/"', '"é"', "null", "true", "{}", "[[], {}]",
              '{"a" : [1,  2]}', '"' + "x" * 900000 + '"']  # fmt: skip
    with App() as app, Daemon({"q": app}) as daemon:
        for body in bodies:
            count = len(app.requests)
            assert daemon.send_text("q", f'{{"body": {body}}}') == 201
            wait_for(lambda: len(app.requests) > count)
            got = app.requests[-1].body
            assert got == body.encode(), (got[:80], body[:80])


def senders(request):
    """The headers that the sender of the message gave it."""
    unquote = urllib.parse.unquote
    return {
        unquote(name.rstrip(":").removeprefix("Patternd-Header-")): unquote("".join(value))
        for name, *value in request.raw_headers
        if name.startswith("Patternd-Header-")
    }


HOSTILE = {
    "crlf": "a\r\nPatternd-Dead: x\r\n\r\nHTTP/1.1 200 OK",
    "lf": "\nX: y",
    "quotes": "\"';--<script>",
    "utf8": "é☃😀",
    "percent": "%0d%0a%",
    "blanks": "  a b  ",
    "colon": ":",
    "empty": "",
    "control": "\x01\x7f\x1b[31m",
}


def test_hostile_headers():
    """Names and values of senders are percent-encoded: no header is injected, and none is lost."""
    with App() as app, Daemon({"q": app}) as daemon:
        for name, value in HOSTILE.items():
            # A group's name has no control characters.
            group = "g" + "".join(c for c in value if c.isprintable())
            for headers in ({"h": value}, {value or "x": "v"}, {"Content-Length": value, "Host": value}):
                request = push(daemon, app, "q", body=name, headers=headers, group=group)
                got = senders(request)
                assert got == headers, (got, headers)
                others = [n for n in names(request) if not n.startswith("patternd-header-")]
                assert set(others) == OWN | {"patternd-group"} and len(others) == len(OWN) + 1, others
                assert urllib.parse.unquote(request.header("Patternd-Group")) == group
                assert all(0x20 <= ord(c) < 0x7F for h in request.raw_headers for part in h for c in part)
                assert request.json == name
        most = {f"{n}" + "ü" * 30: "€" * 85 for n in range(16)}
        request = push(daemon, app, "q", body=1, headers=most)
        assert sum(n.startswith("patternd-header-") for n in names(request)) == 16
        app.check_once()


def test_long_headers():
    """A value that has more than 8 KiB as it is sent is left out, but nothing else."""
    fits = {"n" * 256: "x" * 8192, "encoded": "€" * 910, "blanks": " " * 2730}
    too_long = {"more": "x" * 8193, "more encoded": "€" * 911, "far more": "x" * 30000}
    with App() as app, Daemon({"q": app}) as daemon:
        request = push(daemon, app, "q", body={"n": 1}, headers=fits | too_long | {"last": "z"}, traceparent=TRACE)
        assert senders(request) == fits | {"last": "z"}, {n: len(v) for n, v in senders(request).items()}
        assert request.json == {"n": 1} and request.header("traceparent") == TRACE
        request = push(daemon, app, "q", body=2, headers={"only": "x" * 65532})
        assert senders(request) == {} and request.json == 2
        app.check_once()


def test_odd_names():
    """Names of queues and ids of messages may have odd characters."""
    queues = ["a b", "a/b", "../x", "ü", "q:1", "a%2Fb", "http://evil.example/", "x?y#z", "'", "\\", "[::1]:80"]
    queues.append("a" * 200)
    with App() as app, Daemon({queue: app for queue in queues}) as daemon:
        for queue in queues:
            request = push(daemon, app, queue, body=1, id=queue)
            assert urllib.parse.unquote(request.header("Patternd-Queue")) == queue
            assert urllib.parse.unquote(request.header("Patternd-Message-Id")) == queue
            assert request.path == "/jobs"
            wait_for(lambda q=queue: daemon.is_empty(q), what=queue)
        assert sorted(t["name"] for t in daemon.targets()) == sorted(queues)


def signature(key, request):
    signed = f"{request.header('webhook-id')}.{request.header('webhook-timestamp')}.".encode() + request.body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def test_signature():
    """The signature follows Standard Webhooks. The first line of the file is the key, or whsec_ and
    the key in base64.
    """
    keys = {b"plain key\n": b"plain key", b"whsec_c2VjcmV0IGtleQ==\r\nrest": b"secret key", b"x" * 512: b"x" * 512}
    for line, key in keys.items():
        with tempfile.NamedTemporaryFile() as file:
            file.write(line)
            file.flush()
            with App() as app, Daemon({"q": {"url": app.url, "secret_file": file.name}}) as daemon:
                for body in ({"a": "é"}, "x" * 100000):
                    request = push(daemon, app, "q", body=body, id=f"id ü {len(str(body))}")
                    assert request.header("webhook-id") == request.header("Patternd-Message-Id")
                    assert abs(int(request.header("webhook-timestamp")) - time.time()) < 5
                    assert request.header("webhook-signature") == signature(key, request)
                assert key.decode() not in json.dumps(daemon.targets())
                # A new key is used after SIGHUP.
                pathlib.Path(file.name).write_bytes(b"another")
                daemon.reload({"q": {"url": app.url, "secret_file": file.name}})
                request = push(daemon, app, "q", body=3)
                assert request.header("webhook-signature") == signature(b"another", request)
                (daemon.folder / "own/daemon.log").read_text().index("push_read")
                assert key.decode() not in (daemon.folder / "own/daemon.log").read_text()


def test_unix_socket():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/s"
        target = {"url": "http://localhost/x?y", "unix_socket": path, "ready_path": "/up"}
        with App(family=socket.AF_UNIX, address=path) as app, Daemon({"q": target}) as daemon:
            request = push(daemon, app, "q", body=1)
            assert request.line == "POST /x?y HTTP/1.1" and request.header("Host") == "localhost"
            assert app.requests[0].line == "GET /up HTTP/1.1"
            for _ in range(3):
                push(daemon, app, "q", body=1)
            app.leave()
            pathlib.Path(path).unlink()
            daemon.send("q", 1)
            wait_for(lambda: daemon.target("q")["reason"] == "not_reached", what=lambda: daemon.target("q"))
            app.come()
            wait_for(lambda: daemon.is_empty("q"), 12)
            app.check_once()


def test_localhost():
    """localhost reaches a program that listens only at ::1, or only at 127.0.0.1."""
    hosts_of = {socket.AF_INET6: ("localhost", "[::1]", "LOCALHOST"), socket.AF_INET: ("localhost", "127.0.0.1")}
    for family, hosts in hosts_of.items():
        for host in hosts:
            with App(family=family) as app, Daemon({"q": f"http://{host}:{app.port}/"}) as daemon:
                request = push(daemon, app, "q", body=1)
                assert request.path == "/" and request.header("Host").lower() == f"{host.lower()}:{app.port}"
                wait_for(lambda: daemon.is_empty("q"))


if __name__ == "__main__":
    main(at_once=2)
