#!/usr/bin/env python3
"""The daemon calls only the targets of its file, all on this machine. No client, no answer of a
program and no variable of the environment makes it call anything else, and the file may name no
other machine.
"""
import re
import shutil
import socket
import tempfile
import threading
import time

from pushing import OK, PROGRAM, App, Daemon, answer, check_config, main, quoted, wait_for

HERE = "/q/url: must name a loopback address or localhost"
FORM = "/q/url: must have no user, no fragment, and only the characters of a URL"
REFUSED = {
    "http://evil/": HERE,
    "http://example.com:80/": HERE,
    "http://127.0.0.1.evil.com/": HERE,
    "http://localhost.evil.com/": HERE,
    "http://localhost./": HERE,
    "http://notlocalhost/": HERE,
    "http://foo.localhost/": HERE,
    "http://0/": HERE,
    "http://0.0.0.0/": HERE,
    "http://127.1/": HERE,
    "http://127.0.1/": HERE,
    "http://2130706433/": HERE,
    "http://0x7f000001/": HERE,
    "http://0x7f.0.0.1/": HERE,
    "http://0177.0.0.1/": HERE,
    "http://127.0.0.01/": HERE,
    "http://128.0.0.1/": HERE,
    "http://169.254.169.254/latest/meta-data": HERE,
    "http://10.0.0.1/": HERE,
    "http://255.255.255.255/": HERE,
    "http://224.0.0.1/": HERE,
    "http://[::]/": HERE,
    "http://[::2]/": HERE,
    "http://[::ffff:127.0.0.1]/": HERE,
    "http://[::ffff:10.0.0.1]/": HERE,
    "http://[::127.0.0.1]/": HERE,
    "http://[64:ff9b::7f00:1]/": HERE,
    "http://[fe80::1]/": HERE,
    "http://[::1%25lo]/": HERE,
    "http://[::1%lo]/": HERE,
    "http://::1/": "/q/url: must name a loopback address",
    "http://[::1/": "/q/url: must name a loopback address",
    "http://[]/": "/q/url: must name a loopback address",
    "http://[127.0.0.1]/": "/q/url: must name a loopback address",
    "http://[localhost]/": "/q/url: must name a loopback address",
    "http://[::1]evil.com/": "/q/url: must",
    "http://[::1]:80evil/": "/q/url: must have a port",
    "http:///": "/q/url: must name a loopback address",
    "http://": "/q/url: must name a loopback address",
    "http://:80/": "/q/url: must name a loopback address",
    "http://127.0.0.1@evil/": FORM,
    "http://evil@127.0.0.1/": FORM,
    "http://user:password@127.0.0.1/": FORM,
    "http://127.0.0.1#@evil/": FORM,
    "http://127.0.0.1/#x": FORM,
    "http://127.0.0.1\\@evil/": FORM,
    "http://127.0.0.1\\.evil.com/": FORM,
    "http://127.0.0.1 evil/": FORM,
    "http://127.0.0.1/ HTTP/1.1": FORM,
    "http://127.0.0.1/\r\nHost: evil": FORM,
    "http://127.0.0.1/\tx": FORM,
    "http://127.0.0.1\n/": FORM,
    "http://127.0.0.1/ü": FORM,
    "http://１２７.0.0.1/": FORM,
    "http://127。0.0.1/": FORM,
    "http://ⓛocalhost/": FORM,
    "http://127.0.0.1/{a}": FORM,
    "http://127.0.0.1/[1-9]": None,  # a list of URLs only for the program curl
    "http://127.0.0.1%00.evil.com/": HERE,
    "http://127.0.0.1%2eevil.com/": HERE,
    "http://%31%32%37.0.0.1/": HERE,
    "http://127.0.0.1:0/": "/q/url: must have a port",
    "http://127.0.0.1:/": "/q/url: must have a port",
    "http://127.0.0.1:65536/": "/q/url: must have a port",
    "http://127.0.0.1:-1/": "/q/url: must have a port",
    "http://127.0.0.1:+80/": "/q/url: must have a port",
    "http://127.0.0.1:80:90/": "/q/url: must have a port",
    "http://127.0.0.1:8 0/": FORM,
    "http://127.0.0.1:80@evil/": FORM,
    "http://127.0.0.1:99999999999999999999/": "/q/url: must have a port",
    "http://127.0.0.1?x": "/q/url: must have a path",
    "http://127.0.0.1:80?x=@evil": FORM,
    "https://127.0.0.1/": "/q/url: must begin with http://",
    "HTTP://127.0.0.1/": "/q/url: must begin with http://",
    "http:127.0.0.1/": "/q/url: must begin with http://",
    "http:/127.0.0.1/": "/q/url: must begin with http://",
    "//127.0.0.1/": "/q/url: must begin with http://",
    "127.0.0.1": "/q/url: must begin with http://",
    "localhost:80": "/q/url: must begin with http://",
    "file:///etc/passwd": "/q/url: must begin with http://",
    "gopher://127.0.0.1/": "/q/url: must begin with http://",
    "ftp://127.0.0.1/": "/q/url: must begin with http://",
    " http://127.0.0.1/": "/q/url: must begin with http://",
    "": "/q/url: must be a string that is not empty",
    "http://127.0.0.1": None,
    "http://127.0.0.1/": None,
    "http://127.255.255.254:65535/a?b=c&d=%20": None,
    "http://localhost:1/": None,
    "http://LocalHost/": None,
    "http://[::1]": None,
    "http://[0:0:0:0:0:0:0:1]:8080/x": None,
}


def test_urls():
    for url, reason in REFUSED.items():
        status, said = check_config({"q": {"url": url}})
        assert (status != 0) == (reason is not None), (url, status, said)
        assert reason is None or f"patternd: --push: FILE: {reason}" in said, (url, said)
    # Of several targets, the message names the one that is wrong.
    status, said = check_config({"a": {"url": "http://127.0.0.1/"}, "b c": {"url": "http://evil/"}})
    assert status != 0 and "FILE: /b c/url: must name" in said, said


GOOD = {"url": "http://127.0.0.1:1/"}


def test_members():
    for target, reason in (
        ({}, "/q/url: is required"),
        (None, "/q: must be an object"),
        ("http://127.0.0.1/", "/q: must be an object"),
        ([], "/q: must be an object"),
        ({"url": 1}, "/q/url: must be a string"),
        ({"url": None}, "/q/url: must be a string"),
        (GOOD | {"URL": "x"}, "/q/URL: is unknown"),
        (GOOD | {"concurrency": 0}, "/q/concurrency: must be a whole number from 1 to 256"),
        (GOOD | {"concurrency": 257}, "/q/concurrency: must be"),
        (GOOD | {"concurrency": 1.5}, "/q/concurrency: must be"),
        (GOOD | {"concurrency": "1"}, "/q/concurrency: must be"),
        (GOOD | {"timeout_ms": 0}, "/q/timeout_ms: must be a whole number from 1 to 86400000"),
        (GOOD | {"timeout_ms": 86400001}, "/q/timeout_ms: must be"),
        (GOOD | {"unix_socket": "relative"}, "/q/unix_socket: must be the absolute path"),
        (GOOD | {"unix_socket": "/" + "x" * 107}, "/q/unix_socket: must be the absolute path"),
        (GOOD | {"unix_socket": ""}, "/q/unix_socket: must be a string"),
        (GOOD | {"unix_socket": "/a\0b"}, "/q/unix_socket: must not contain NUL"),
        ({"url": "http://127.0.0.1/\0@evil"}, "/q/url: must not contain NUL"),
        (GOOD | {"ready_path": "ready"}, "/q/ready_path: must begin with /"),
        (GOOD | {"ready_path": "http://evil/"}, "/q/ready_path: must begin with /"),
        (GOOD | {"ready_path": "//evil/"}, None),  # a path
        (GOOD | {"ready_path": "/@evil"}, "/q/ready_path: must have no user"),
        (GOOD | {"ready_path": "/a b"}, "/q/ready_path: must have no user"),
        (GOOD | {"ready_path": "/a\r\nX: y"}, "/q/ready_path: must have no user"),
        ({"url": "http://127.0.0.1", "ready_path": ".evil.com/"}, "/q/ready_path: must begin with /"),
        ({"url": "http://127.0.0.1", "ready_path": "/ok"}, None),
        (GOOD | {"secret_file": "/nowhere/at/all"}, "/q/secret_file: No such file or directory"),
        (GOOD | {"secret_file": "/dev/null"}, "/q/secret_file: the first line of the file must have 1 to 512 bytes"),
        (GOOD | {"secret_file": "/"}, "/q/secret_file: "),
        (GOOD | {"unix_socket": "/run/x", "concurrency": 256, "timeout_ms": 86400000}, None),
    ):
        status, said = check_config({"q": target})
        assert (status != 0) == (reason is not None), (target, status, said)
        assert reason is None or reason in said, (target, said)
    for text, reason in (
        ('{"q": {"url": "http://127.0.0.1/", "url": "http://127.0.0.1/"}}', "duplicate name"),
        ('{"": {"url": "http://127.0.0.1/"}}', "/: is not a name of a queue"),
        ('{"{}": {"url": "http://127.0.0.1/"}}', "/{}: is not a name of a queue"),
        ('{"%s": {"url": "http://127.0.0.1/"}}' % ("x" * 300), ": is not a name of a queue"),
        ('{"q\\u0000": {"url": "http://127.0.0.1/"}}', ""),
        ("{", "FILE:1:2:"),
        ("[]", "must be a JSON object"),
        ('{"a": {"url": "http://127.0.0.1/"}} x', "FILE:1:"),
        ("{}" + " " * 1048576, "has more than 1048576 bytes"),
    ):
        status, said = check_config(text)
        assert status != 0 and f"patternd: --push: FILE" in said and reason in said, (text[:60], said[:300])
    secrets = {b"whsec_\n": "must have base64", b"whsec_!!!!\n": "must have base64", b"x" * 513: "1 to 512 bytes", b"\nx": "1 to 512"}
    for line, reason in secrets.items():
        with tempfile.NamedTemporaryFile() as file:
            file.write(line)
            file.flush()
            status, said = check_config({"q": GOOD | {"secret_file": file.name}})
            assert status != 0 and reason in said and "!!!!" not in said and "xxx" not in said, said


class Trap:
    """A port that must never be connected to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.came = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.came += 1
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "socks_proxy")


def calls_of(trace):
    """The addresses to which the daemon connected, and the files that it opened."""
    text = open(trace).read()
    return re.findall(r"connect\(\d+, \{(.*?)\}", text), re.findall(r'open(?:at)?\(.*?"(.*?)"', text)


def test_only_the_targets():
    """No body, header, name, redirect or proxy of the environment makes the daemon call another
    address. strace shows that as well, where it is installed.
    """
    with Trap() as trap, tempfile.NamedTemporaryFile() as trace:
        evil = f"http://127.0.0.1:{trap.port}/"
        answers = [
            OK,
            *(
                answer(status, b"", f"Location: {evil}", f"Content-Location: {evil}", f"Refresh: 0; url={evil}")
                for status in (200, 201, 202, 300, 301, 302, 303, 305, 307, 308)
            ),
            answer(200, b"", f'Alt-Svc: h2="127.0.0.1:{trap.port}", http/1.1="127.0.0.1:{trap.port}"; persist=1'),
            answer(200, b"", "Strict-Transport-Security: max-age=31536000"),
            answer(200, b"", f'Link: <{evil}>; rel="preload"', f"Set-Cookie: a=b; Domain=127.0.0.1"),
            answer(401, b"", "WWW-Authenticate: Negotiate", 'WWW-Authenticate: Digest realm="x", nonce="y"'),
            answer(407, b"", f"Proxy-Authenticate: Basic"),
            answer(426, b"", "Upgrade: h2c", "Connection: Upgrade"),
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        ]
        environment = dict.fromkeys(PROXIES, evil) | {"NO_PROXY": "", "no_proxy": "", "LOCALDOMAIN": "evil"}
        environment["ASAN_OPTIONS"] = "detect_leaks=0"  # the detection of leaks does not work under strace
        strace = ()
        if shutil.which("strace"):
            strace = ("strace", "-D", "-f", "-qq", "-e", "trace=network,open,openat", "-o", trace.name)
        with App(lambda r: answers[(len(r.app.requests) - 1) % len(answers)]) as app:
            urls = [f"http://127.0.0.1:{app.port}/", f"http://localhost:{app.port}/", f"http://[::1]:{app.port}/"]
            places = {urls[0]: urls[0], urls[1]: urls[1], evil: app.url}
            queues = {queue: {"url": url, "timeout_ms": 300} for queue, url in places.items()}
            with Daemon(queues, environment=environment, before=strace) as daemon:
                for queue in queues:
                    daemon.put(queue, backoff={"base_ms": 3600000, "max_ms": 3600000})
                    for headers in (
                        {},
                        {"Location": evil, "Host": f"127.0.0.1:{trap.port}", "url": evil, "Proxy": evil},
                        {"Patternd-Queue": evil, "webhook-url": evil, "X-HTTP-Method-Override": "CONNECT"},
                    ):
                        for body in (evil, {"url": evil, "push": evil, "unix_socket": "/tmp/x"}, [evil] * 10):
                            daemon.send(queue, body, headers=headers, group=evil)
                # Queues without a target get messages as well.
                for queue in ("other", f"{evil}x", "../q", "push"):
                    daemon.send(queue, {"url": evil})
                for method, path, body in (
                    ("POST", "/push", {"url": evil}),
                    ("PUT", "/push", {"q": {"url": evil}}),
                    ("PUT", "/push/q", {"url": evil}),
                    ("PATCH", "/push/q", {"url": evil}),
                    ("DELETE", "/push/q", None),
                    ("PUT", "/queues/q", {"push": evil}),
                    ("PUT", "/queues/q", {"url": evil}),
                    ("POST", "/queues/q/messages", {"body": 1, "url": evil}),
                    ("POST", "/queues/q/messages", {"body": 1, "push": {"url": evil}}),
                ):
                    status, _, told = daemon.ask(method, path, body)
                    assert status in (400, 404, 405), (method, path, status, told)
                wait_for(lambda: sum(sum(t["counts"].values()) for t in daemon.targets()) >= 27, 20, daemon.targets)
                assert {t["url"] for t in daemon.targets()} == {t["url"] for t in queues.values()}
                daemon.reload(queues | {"more": urls[0]})
                daemon.send("more", 1)
                wait_for(lambda: [r for r in app.requests if r.header("Patternd-Queue") == "more"])
                assert trap.came == 0
            app.check_once()
        assert trap.came == 0
        if not strace:
            print("   without strace: install it to see that no name is looked up")
            return
        places, files = calls_of(trace.name)
        places = {p for p in places if "AF_UNIX" not in p}
        ports = {int(port) for p in places for port in re.findall(r"sin6?_port=htons\((\d+)\)", p)}
        assert ports == {app.port}, places
        assert all("127.0.0.1" in p or '"::1"' in p for p in places), places
        looked_up = [f for f in files if re.search(r"resolv\.conf|/hosts$|host\.conf|gai\.conf|netrc|nscd|curlrc", f)]
        assert not looked_up, looked_up
        assert "AF_NETLINK" not in open(trace.name).read()


if __name__ == "__main__":
    main(at_once=2)
