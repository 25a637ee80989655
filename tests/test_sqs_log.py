#!/usr/bin/env python3
"""What the log has of requests of SQS, and what CreateQueue shows:
tests/test_sqs_log.py PATTERND

Each refused request has the queue that its path or its body names, and a code. CreateQueue shows
the settings of a queue only to a token that may see them.
"""
import hashlib
import json
import pathlib
import sys
import tempfile

from sqs_door import Door
from stage import Daemon, wait_until

ARN = "arn:aws:sqs:us-east-1:000000000000:"
# (action, request, path, resource, code)
REFUSED = (
    ("DeleteMessage", {"QueueUrl": "http://h/0/o", "ReceiptHandle": "x"}, "/", "o", "ReceiptHandleIsInvalid"),
    ("SendMessage", {"QueueUrl": "o.fifo", "MessageBody": "x"}, "/", "o.fifo", "MissingParameter"),
    ("SendMessage", {"QueueUrl": "o"}, "/", "o", "MissingParameter"),
    ("SendMessage", {"QueueUrl": "none", "MessageBody": "x"}, "/", "none", "not_found"),
    ("SendMessage", b"[", "/000000000000/o%2D1", "o-1", "malformed_json"),
    ("SendMessage", [], "/000000000000/o", "o", "SerializationException"),
    ("GetQueueUrl", {"QueueName": "none"}, "/", "none", "AWS.SimpleQueueService.NonExistentQueue"),
    ("NoAction", {"QueueUrl": "o"}, "/", "o", "UnknownOperationException"),
    ("ListMessageMoveTasks", {"SourceArn": ARN + "none"}, "/", "none", "ResourceNotFoundException"),
    ("ListQueues", {"MaxResults": 0}, "/", None, "InvalidParameterValue"),
)


def check(what, got, expected):
    if got != expected:
        raise SystemExit(f"{what}: got {got!r}, expected {expected!r}")


def check_logged(daemon, what, request_id, *expected):
    """`expected` is the resource, the code, and perhaps the status."""

    def find():
        lines = pathlib.Path(daemon.log_path).read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n") and f'"{request_id}"' in line]

    (line,) = wait_until(find, 5, f"the log of {what}")
    names = ("resource", "code", "status")[: len(expected)]
    check(f"the log of {what}", tuple(line.get(name) for name in names), expected)


def try_refused(program, folder):
    with Daemon(program, "--access-log=all", folder=folder) as daemon:
        door = Door(daemon.port)
        door.must("CreateQueue", {"QueueName": "o"})
        door.must("CreateQueue", {"QueueName": "o.fifo", "Attributes": {"FifoQueue": "true"}})
        for action, request, path, resource, code in REFUSED:
            answer = door.ask(action, request, path=path)
            check_logged(daemon, f"{action} {request}", answer.headers["x-amzn-RequestId"], resource, code)
        query = {"Content-Type": "application/x-www-form-urlencoded"}
        _, headers, _ = daemon.ask("POST", "/000000000000/o", b"Action=ListQueues", query)
        check_logged(daemon, "a query", headers["X-Request-Id"], "o", "InvalidAction", 400)


def try_created(door):
    """CreateQueue is 200 for equal attributes; it names another one to a token that may see it."""
    made = {"QueueName": "o", "Attributes": {"DelaySeconds": "5"}}
    Door(door.port, "owner").must("CreateQueue", made)
    for token, names in ("sends", False), ("reads", True), ("manages", True), ("owner", True):
        asking = Door(door.port, token)
        asking.must("CreateQueue", made)
        answer = asking.ask("CreateQueue", {"QueueName": "o", "Attributes": {"DelaySeconds": "6"}})
        check(f"CreateQueue by {token}", answer.code, "QueueAlreadyExists")
        check(f"the attribute for {token}", "DelaySeconds" in answer.json["message"], names)
        check(f"the scope for {token}", "queues:o:read" in answer.json["message"], not names)
    message = Door(door.port, "sends").ask("CreateQueue", {"QueueName": "fresh"}).json["message"]
    check("the scope", message, "the token lacks the scope 'queues:fresh:manage'")
    message = Door(door.port, "sends").ask("GetQueueUrl", {"QueueName": "fresh"}).json["message"]
    check("the scope", message, "the token lacks the scope 'queues:fresh:*'")


def try_tokens(program, folder):
    scopes = {"owner": "*", "sends": "queues:o:send", "reads": "queues:o:read", "manages": "queues:o:manage"}
    tokens = pathlib.Path(folder).with_suffix(".tokens")
    tokens.write_text("".join(f"{hashlib.sha256(t.encode()).hexdigest()} {s} # {t}\n" for t, s in scopes.items()))
    tokens.chmod(0o600)
    with Daemon(program, "--tokens", tokens, folder=folder) as daemon:
        door = Door(daemon.port, "unknown")
        send = {"QueueUrl": "http://h/000000000000/o", "MessageBody": "x"}
        for path, resource in ("/000000000000/o?x=/y", "o"), ("/", None):
            answer = door.ask("SendMessage", send, path=path)
            check("an unknown token", (answer.status, answer.code), (403, "InvalidClientTokenId"))
            request_id = answer.headers["x-amzn-RequestId"]
            check_logged(daemon, f"an unknown token at {path}", request_id, resource, "unauthorized", 403)
        try_created(door)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        try_refused(program, f"{folder}/refused")
        try_tokens(program, f"{folder}/tokens")


main(sys.argv[1])
