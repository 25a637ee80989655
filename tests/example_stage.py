"""The Redis and the daemon of tests/test_examples.py: one server, a Cluster, or a server with a
replica from which the daemon reads.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import time

from example_values import Differs
from stage import Daemon, redis, servers

SOON_SECONDS = 10


class Stage:
    """A Redis, a daemon on it and a connection to the daemon."""

    def __init__(self, build, topology):
        self.contract = json.loads(pathlib.Path(build, "generated", "openapi.json").read_text())
        self.exits = contextlib.ExitStack()
        urls = self.exits.enter_context(servers(build, topology))
        self.ports = [int(port) for port in re.findall(r":(\d+)", urls[0])]
        self.replica = int(urls[1].rsplit(":", 1)[1].split("/")[0]) if urls[1:] else None
        options = ["--read-from", "replica", "--max-replica-lag-ms", "60000", "--redis-replicas"]
        options = options + urls[1:] if urls[1:] else []
        daemon = Daemon(os.environ.get("PATTERND_BIN", f"{build}/patternd"), *options, redis=urls[0])
        self.daemon = self.exits.enter_context(daemon)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        self.exits.callback(self.connection.close)
        record = os.environ.get("PATTERND_EXCHANGES") or os.devnull
        until = time.monotonic() + SOON_SECONDS
        while self.replica and "\npatternd_replicas_usable 1" not in self.daemon.ask("GET", "/metrics")[2]:
            assert time.monotonic() < until, "the daemon does not use the replica"
        self.record = self.exits.enter_context(open(record, "w", encoding="utf-8"))

    def operation(self, method, target):
        """The operation of the contract with most literal segments."""
        verb = "get" if method == "HEAD" else method.lower()
        path, best = target.split("?")[0], (-1, None, {})
        for template, methods in self.contract["paths"].items():
            fits = re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path)
            if fits and verb in methods:
                literal = sum(not part.startswith("{") for part in template.split("/"))
                best = max(best, (literal, template, methods[verb]), key=lambda one: one[0])
        return best[2]

    def command(self, words):
        """Redis's reply. In a Cluster, the owner of the key replies, or all together."""
        verb = words[0].upper()
        if verb in ("FLUSHALL", "KEYS", "CONFIG"):
            replies = [redis(port, *words, *["*"] * (words == ["KEYS"])) for port in self.ports]
            found = [key for reply in replies if verb == "KEYS" for key in reply if ":names:{" not in key]
            return sorted(found) if verb == "KEYS" else replies[0]
        port = self.ports[0]
        while True:
            reply = redis(port, *words)
            moved = re.fullmatch(r"MOVED \d+ .*:(\d+)", str(reply))
            if not moved:
                return reply
            port = int(moved.group(1))

    def offset(self, port, role):
        """How much of the replication stream this server has."""
        return int(re.search(rf"{role}_repl_offset:(\d+)", redis(port, "INFO", "replication")).group(1))

    def wait_for_replica(self):
        """Waits until the replica has all writes, so that it answers as the primary would."""
        had = self.offset(self.ports[0], "master")
        until = time.monotonic() + SOON_SECONDS
        while self.offset(self.replica, "slave") < had:
            if time.monotonic() > until:
                raise Differs("the replica does not catch up")

    def ask(self, method, target, body, headers):
        operation = self.operation(method, target)
        is_by_replica = self.replica and operation.get("x-stale")
        if is_by_replica:
            self.wait_for_replica()
        if body is not None:
            headers = {"Content-Type": "application/json"} | headers
        self.connection.request(method, target, body, headers)
        answer = self.connection.getresponse()
        came = {name.lower(): value for name, value in answer.headers.items()}
        text, kind = answer.read().decode(), came.get("content-type", "")
        if is_by_replica and answer.status == 200 and came.get("patternd-source") != "replica":
            raise Differs("the replica was not asked")
        line = {"operation": operation.get("operationId", ""), "method": method, "target": target}
        line |= {"status": answer.status, "content_type": kind, "headers": came, "body": text}
        self.record.write(json.dumps(line) + "\n")
        return answer.status, came, json.loads(text) if text and "json" in kind else text

    def ask_all(self, target, headers):
        items, more = [], ""
        while True:
            status, came, page = self.ask("GET", target + more, None, headers)
            if status != 200:
                return status, came, page
            items += page["items"]
            if not page["next_cursor"]:
                return status, came, items
            more = f"{'&' if '?' in target else '?'}cursor={page['next_cursor']}"
