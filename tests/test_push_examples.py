#!/usr/bin/env python3
"""The programs of examples/push, beside a daemon that pushes to each: it gets its messages, and
goes on after a message that it cannot use. PHP is tried where it is installed.
tests/test_push_examples.py PATTERND
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import embedded

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples/push"
# What starts each, where {port} is free, and the path of its URL.
PROGRAMS = {
    "python": ([sys.executable, "-B", "mails.py"], "/mails"),
    "node": (["node", "mails.mjs"], "/mails"),
    "shell": (["busybox", "httpd", "-f", "-p", "127.0.0.1:{port}"], "/cgi-bin/mails"),
    "php": (["php", "-S", "127.0.0.1:{port}", "mails.php"], "/mails"),
}
WAIT_MS = 20000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(command, port, log):
    words = [word.format(port=port) for word in command]
    with open(log, "w") as file:
        program = subprocess.Popen(
            words, cwd=FOLDER, env=os.environ | {"PORT": str(port)}, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield program
    finally:
        program.terminate()
        program.wait(10)


def send(daemon, queue, body):
    """The message once it is done or dead."""
    status, _, answer = daemon.ask(
        "POST", f"/queues/{queue}/messages", {"body": body, "wait_result_ms": WAIT_MS}
    )
    assert status == 201, answer
    return answer["messages"][0]


def target_of(daemon, queue):
    _, _, answer = daemon.ask("GET", "/push")
    return next(target for target in answer["items"] if target["name"] == queue)


def try_program(daemon, language, port, folder):
    log = pathlib.Path(folder, f"{language}.log")
    status, _, answer = daemon.ask("PUT", f"/queues/{language}", {"result_ms": 60000, "max_receives": 1})
    assert status == 201, answer
    with running(PROGRAMS[language][0], port, log) as program:
        assert send(daemon, language, {"to": "ann"})["state"] == "done"
        assert send(daemon, language, None)["state"] == "dead"
        assert send(daemon, language, {"to": "bob"})["state"] == "done"
        assert program.poll() is None, "it has ended"
    said = log.read_text()
    assert "a mail to ann" in said and "a mail to bob" in said, said
    counts = target_of(daemon, language)["counts"]
    assert counts["acknowledged"] == 2 and counts["failed"] + counts["dead"] == 1, counts


def main():
    found = {language: free_port() for language in PROGRAMS if shutil.which(PROGRAMS[language][0][0])}
    missing = PROGRAMS.keys() - found.keys()
    assert not missing - {"php"}, f"install what runs the examples for {missing}"
    written = json.loads((FOLDER / "push.json").read_text())["mails"]
    with tempfile.TemporaryDirectory() as folder:
        targets = pathlib.Path(folder, "push.json")
        url = {language: f"http://127.0.0.1:{port}{PROGRAMS[language][1]}" for language, port in found.items()}
        targets.write_text(json.dumps({language: written | {"url": url[language]} for language in found}))
        with embedded.Daemon(sys.argv[1], "--push", str(targets)) as daemon:
            for language, port in found.items():
                try:
                    try_program(daemon, language, port, folder)
                except AssertionError:
                    log = pathlib.Path(folder, f"{language}.log")
                    print(f"{language}: {log.read_text() if log.exists() else 'it was not started'}", file=sys.stderr)
                    raise
    print(f"{', '.join(found)}: each got its mails{' (php is not here)' if missing else ''}")


main()
