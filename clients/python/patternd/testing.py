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
import os
import re
import shutil
import subprocess
import threading
from typing import IO, Any, Iterator, Optional
from urllib.parse import quote

from ._threads.client import Client

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
    command = [str(found), "--embedded", "--listen", "127.0.0.1:0", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        log: list[str] = []
        urls: list[str] = []
        is_ready = threading.Event()
        readers = [
            threading.Thread(target=_collect, args=(process.stderr, log), daemon=True),
            threading.Thread(target=_read, args=(process.stdout, urls, is_ready), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            is_ready.wait(START_S)
            if not urls:
                process.terminate()
                readers[0].join(STOP_S)  # the log has the reason
                raise RuntimeError("patternd did not start: " + "".join(log))
            yield Daemon(urls[0], process, log)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
            for reader in readers:
                reader.join(STOP_S)


def _collect(lines: IO[str], log: list[str]) -> None:
    for line in lines:
        log.append(line)


def _read(lines: IO[str], urls: list[str], is_ready: threading.Event) -> None:
    """When the daemon is ready it prints its first address, whatever the level of its log."""
    for line in lines:
        found = re.match(r"patternd listens on (?:unix:(.+)|(.+)); ", line)
        if found:
            urls.append(found[2] or "http+unix://" + quote(found[1], safe=""))
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
