#!/usr/bin/env python3
"""The programs of examples/push and of docker/kubernetes/push, beside a daemon that pushes to each.
Each program gets its messages, and continues after a message that it cannot use. PHP is tested if
it is installed.
tests/test_push_examples.py PATTERND
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from stage import Daemon, free_port

TOP = pathlib.Path(__file__).resolve().parent.parent
# For each program: its folder, which has its target in push.json; its command, in which {port} is a
# free port; and the path of its URL.
PROGRAMS = {
    "python": ("examples/push", [sys.executable, "-B", "mails.py"], "/mails"),
    "node": ("examples/push", ["node", "mails.mjs"], "/mails"),
    "shell": ("examples/push", ["busybox", "httpd", "-f", "-p", "127.0.0.1:{port}"], "/cgi-bin/mails"),
    "php": ("examples/push", ["php", "-S", "127.0.0.1:{port}", "mails.php"], "/mails"),
    "pod": ("docker/kubernetes/push", [sys.executable, "-B", "mails.py"], "/mails"),
}
WAIT_MS = 20000


@contextlib.contextmanager
def running(folder, command, port, log):
    words = [word.format(port=port) for word in command]
    with open(log, "w") as file:
        program = subprocess.Popen(
            words, cwd=TOP / folder, env=os.environ | {"PORT": str(port)}, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield program
    finally:
        program.terminate()
        program.wait(10)


def target_of(name, port):
    """The target as the program's push.json has it, on this port."""
    folder, _, path = PROGRAMS[name]
    target = json.loads((TOP / folder / "push.json").read_text())["mails"]
    assert target["url"] == "http://127.0.0.1:3000/mails", target
    return target | {"url": f"http://127.0.0.1:{port}{path}"}


def send(daemon, queue, body):
    """Waits until the message is done or dead, and returns it."""
    status, _, answer = daemon.ask("POST", f"/queues/{queue}/messages", {"body": body, "wait_result_ms": WAIT_MS})
    assert status == 201, answer
    return answer["messages"][0]


def try_program(daemon, name, port, log):
    status, _, answer = daemon.ask("PUT", f"/queues/{name}", {"result_ms": 60000, "max_receives": 1})
    assert status == 201, answer
    folder, command, _ = PROGRAMS[name]
    with running(folder, command, port, log) as program:
        assert send(daemon, name, {"to": "ann"})["state"] == "done"
        assert send(daemon, name, None)["state"] == "dead"
        assert send(daemon, name, {"to": "bob"})["state"] == "done"
        assert program.poll() is None, "it has ended"
    assert name != "pod" or program.returncode == 0, "it does not end as a pod should"
    output = log.read_text()
    assert "a mail to ann" in output and "a mail to bob" in output, output
    _, _, answer = daemon.ask("GET", "/push")
    counts = next(target["counts"] for target in answer["items"] if target["name"] == name)
    assert counts["acknowledged"] == 2 and counts["failed"] + counts["dead"] == 1, counts


def main():
    found = {name: free_port() for name in PROGRAMS if shutil.which(PROGRAMS[name][1][0])}
    missing = PROGRAMS.keys() - found.keys()
    assert not missing - {"php"}, f"install what runs the examples for {missing}"
    with tempfile.TemporaryDirectory() as folder:
        targets = pathlib.Path(folder, "push.json")
        targets.write_text(json.dumps({name: target_of(name, port) for name, port in found.items()}))
        with Daemon(sys.argv[1], "--push", str(targets)) as daemon:
            for name, port in found.items():
                log = pathlib.Path(folder, f"{name}.log")
                try:
                    try_program(daemon, name, port, log)
                except AssertionError:
                    print(f"{name}: {log.read_text() if log.exists() else 'it was not started'}", file=sys.stderr)
                    raise
    print(f"{', '.join(found)}: each got its mails{' (php is not here)' if missing else ''}")


main()
