#!/usr/bin/env python3
"""Tests examples/frameworks: each program limits its users, sends a job once, and serves requests
while no daemon runs. Usage: frameworks.py EXAMPLES. PATTERND_URL is the daemon; `express` and
`patternd` are in node_modules of this folder.
"""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

PROGRAMS = {
    "flask": ["/usr/bin/python3", "-B", "-m", "flask", "--app", "flask_app", "run", "--port", "PORT"],
    "django": ["/usr/bin/python3", "-B", "django_app.py", "runserver", "--noreload", "127.0.0.1:PORT"],
    "express": ["node", "express_app.mjs"],
}
START_S = 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def started(name, url):
    """Yields the function `ask(method, path, user)` of a program, which returns status, headers and
    body.
    """
    port = str(free_port())
    command = [word.replace("PORT", port) for word in PROGRAMS[name]]
    environment = os.environ | {"PATTERND_URL": url, "PORT": port}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as program:

        def ask(method, path, user):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=START_S)
            with contextlib.closing(connection):
                connection.request(method, path, headers={"X-User": user})
                answer = connection.getresponse()
                return answer.status, answer.headers, json.loads(answer.read())

        try:
            deadline = time.monotonic() + START_S
            while True:
                try:
                    ask("GET", "/", f"start {port}")
                    break
                except OSError:
                    if program.poll() is not None or time.monotonic() > deadline:
                        raise AssertionError(f"{name} does not start: {program.stderr.read()}") from None
                    time.sleep(0.05)
            yield ask
        finally:
            program.terminate()
            program.communicate()


def try_program(name, url):
    with started(name, url) as ask:
        order = {"flask": 1, "django": 2, "express": 3}[name]
        for repeated in (False, True):
            status, _, body = ask("POST", f"/orders/{order}", f"ann of {name}")
            assert (status, body) == (202, {"order": order, "repeated": repeated}), (name, status, body)
        status, headers, body = ask("GET", "/", f"ann of {name}")
        assert status == 429 and 1 <= int(headers["Retry-After"]) <= 30, (name, status, body)
        assert ask("GET", "/", f"bob of {name}")[0] == 200, name
    with started(name, f"http://127.0.0.1:{free_port()}") as ask:  # an address without a daemon
        assert ask("GET", "/", "ann")[0] == 200, name
        status, headers, body = ask("POST", "/orders/4", "ann")
        assert (status, headers["Retry-After"]) == (503, "1"), (name, status, body)


def main():
    for path in pathlib.Path(sys.argv[1]).glob("*_app.*"):
        shutil.copy2(path, ".")
    url = os.environ["PATTERND_URL"]
    policy = json.dumps({"limit": 2, "window_ms": 60000}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/ratelimit/policies/api", policy, headers, method="PUT")
    urllib.request.urlopen(request, timeout=START_S).close()
    for name in PROGRAMS:
        try_program(name, url)


main()
