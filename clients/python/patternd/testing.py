"""A daemon with its own Redis, for tests:

    with patternd.testing.daemon() as daemon:
        daemon.client().queue("mails").send({"to": "ann"})

and for pytest, after `pytest_plugins = ["patternd.testing"]` in conftest.py, the fixtures
`patternd_daemon` (a new one for each test) and `patternd_client` (its client).

The program is the one that is named, else the value of the variable PATTERND, else `patternd` in
PATH. It needs redis-server in PATH. Its data is deleted when it ends.
"""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
import threading
from typing import IO, Any, Iterator, Optional

from ._client import Client

__all__ = ["Daemon", "daemon"]
START_S, STOP_S = 20.0, 20.0


class Daemon:
    """`url` is where it listens; `log` has the lines that it wrote, for a test that failed."""

    def __init__(self, url: str, process: subprocess.Popen[str], log: list[str]) -> None:
        self.url, self.process, self.log = url, process, log

    def client(self, **options: Any) -> Client:
        """A client of it; `options` go to `Client`."""
        return Client(self.url, **options)


@contextlib.contextmanager
def daemon(program: Optional[str] = None, *options: str) -> Iterator[Daemon]:
    """Starts `patternd --embedded` on a free port, waits until it is ready, and ends it."""
    found = program or os.environ.get("PATTERND") or shutil.which("patternd")
    if not found:
        raise FileNotFoundError("no patternd in PATH: name the program, or set the variable PATTERND")
    # Without the options of another daemon.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PATTERND_")}
    command = [str(found), "--embedded", "--listen", "127.0.0.1:0", "--log-format", "json", *options]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        log: list[str] = []
        listening: list[str] = []
        is_ready = threading.Event()
        reader = threading.Thread(target=_read, args=(process.stderr, log, listening, is_ready), daemon=True)
        reader.start()
        try:
            is_ready.wait(START_S)
            if len(listening) < 2:
                raise RuntimeError("patternd did not start: " + "".join(log))
            yield Daemon(listening[0], process, log)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
            reader.join(STOP_S)


def _read(lines: IO[str], log: list[str], listening: list[str], is_ready: threading.Event) -> None:
    """Reads its log, which would fill the pipe. `listening` gets the address, and then that Redis
    is there.
    """
    for line in lines:
        log.append(line)
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == "listening":
            listening.extend(re.findall(r"https?://127\.0\.0\.1:\d+", str(told["message"]))[:1])
        if told.get("event") == "redis_connected" and len(listening) == 1:
            listening.append("redis")
            is_ready.set()
    is_ready.set()


def _fixtures() -> dict[str, Any]:
    try:
        pytest: Any = importlib.import_module("pytest")
    except ImportError:
        return {}

    def patternd_daemon() -> Iterator[Daemon]:
        with daemon() as started:
            yield started

    def patternd_client(patternd_daemon: Daemon) -> Iterator[Client]:
        with patternd_daemon.client() as client:
            yield client

    return {function.__name__: pytest.fixture(function) for function in (patternd_daemon, patternd_client)}


globals().update(_fixtures())
