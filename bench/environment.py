"""Shared by all contests: one Redis that keeps nothing on disk, one patternd, and functions that
send requests to them.
"""
import json
import os
import pathlib
import re
import subprocess
import urllib.request

from processes import free_port, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent
DAEMON = pathlib.Path(os.environ.get("PATTERND_BIN", ROOT / "build" / "patternd")).resolve()

PATIENCE_MS = 30000  # the machine may pause


def ask(method, url, body=None, headers=None):
    """Returns the JSON of an answer. Raises if the answer is an error."""
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if data is not None else {}
    request = urllib.request.Request(url, data, kind | (headers or {}), method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def expect(condition, what):
    """Checks an answer of a contestant before it is measured, because a program that does no work
    is fast.
    """
    if not condition:
        raise RuntimeError(f"does not do the work: {what}")


def is_ready(port):
    try:
        return ask("GET", f"http://127.0.0.1:{port}/readyz") is not None
    except OSError:
        return False


class Environment:
    def __init__(self, stage):
        self.stage = stage
        self.redis = start_redis(stage)
        self.daemon = start_daemon(stage, self.redis)
        self.url = f"http://127.0.0.1:{self.daemon.port}"


def start_redis(stage):
    port = free_port()
    return stage.start("redis-server", "--port", port, "--save", "", "--appendonly", "no", port=port)


def start_daemon(stage, redis, *options):
    """Starts a daemon. Options that are not given have their defaults, except the timeout."""
    port = free_port()
    own = ("--listen", f"127.0.0.1:{port}", "--redis", f"redis://127.0.0.1:{redis.port}")
    daemon = stage.start(DAEMON, *own, "--redis-timeout-ms", PATIENCE_MS, *options, port=port)
    wait_until(lambda: is_ready(port))
    return daemon


def start_webdis(stage, redis):
    """Starts webdis with one thread, like patternd, and with verbosity 0."""
    port = free_port()
    config = {
        "redis_host": "127.0.0.1",
        "redis_port": redis.port,
        "http_host": "127.0.0.1",
        "http_port": port,
        "threads": 1,
        "pool_size": 2,
        "daemonize": False,
        "database": 0,
        "verbosity": 0,
        "logfile": str(stage.folder / "webdis.log"),
    }
    return stage.start("webdis", stage.write("webdis.json", json.dumps(config)), port=port)


def redis_cli(redis, *command):
    return subprocess.run(
        ["redis-cli", "-p", str(redis.port), *command], capture_output=True, text=True, check=True
    ).stdout


def scripts_run(redis):
    return sum(
        map(int, re.findall(r"^cmdstat_eval(?:sha)?:calls=(\d+)", redis_cli(redis, "INFO", "commandstats"), re.M))
    )
