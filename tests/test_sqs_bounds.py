#!/usr/bin/env python3
"""What a hostile or unusual client of SQS may not do: tests/test_sqs_bounds.py PATTERND

Memory that one request takes is bounded, names with any letters name nothing else, and what a
client repeats does no harm.
"""
import concurrent.futures
import json
import sys

from sqs_door import Door
from stage import Daemon

ARN = "arn:aws:sqs:us-east-1:000000000000:"
MOST_MIB = 32  # that the daemon's requests may take, in try_move


def check(what, got, expected):
    if got != expected:
        raise SystemExit(f"{what}: got {got!r}, expected {expected!r}")


def policy(name):
    return json.dumps({"deadLetterTargetArn": ARN + name, "maxReceiveCount": 1})


def peak_kib(daemon):
    return int(open(f"/proc/{daemon.process.pid}/status").read().partition("VmHWM:")[2].split()[0])


def try_move(daemon, door):
    """A task of many messages takes the memory of one step."""
    door.ask("CreateQueue", {"QueueName": "moved-dead"})
    door.ask("CreateQueue", {"QueueName": "moved", "Attributes": {"RedrivePolicy": policy("moved-dead")}})
    door.ask("CreateQueue", {"QueueName": "moved-to"})
    body = {"body": "x" * 10000}
    for _ in range(80):
        check("a send", daemon.ask("POST", "/queues/moved-dead/messages", {"messages": [body] * 100})[0], 201)
    before = peak_kib(daemon)
    answer = door.ask("StartMessageMoveTask", {"SourceArn": ARN + "moved-dead", "DestinationArn": ARN + "moved-to"})
    check("the task", answer.status, 200)
    tasks = door.ask("ListMessageMoveTasks", {"SourceArn": ARN + "moved-dead"}).json["Results"]
    check("moved", tasks[0]["ApproximateNumberOfMessagesMoved"], 8000)
    taken = (peak_kib(daemon) - before) / 1024
    is_sanitized = "libasan" in open(f"/proc/{daemon.process.pid}/maps").read()  # which retains memory
    if taken > MOST_MIB and not is_sanitized:
        raise SystemExit(f"a task of 80 MB took {taken:.0f} MiB of memory, of which {MOST_MIB} are allowed")


def try_receive(door):
    """A request that waits keeps what the client sent, so that is little."""
    door.ask("CreateQueue", {"QueueName": "waited"})
    answer = door.ask("ReceiveMessage", {"QueueUrl": "waited", "WaitTimeSeconds": 5, "x": [0] * 40000})
    check("a receive of 80 kB", answer.code, "InvalidParameterValue")
    names = ["a"] * 101
    answer = door.ask("ReceiveMessage", {"QueueUrl": "waited", "MessageAttributeNames": names})
    check("a receive with 101 names", answer.code, "InvalidParameterValue")


def try_numbers(door):
    """A number out of range is refused, also if it is what an absent one means in the daemon."""
    task = {"SourceArn": ARN + "moved-dead", "MaxNumberOfMessagesPerSecond": 0}
    check("a task of 0 per second", door.ask("StartMessageMoveTask", task).code, "InvalidParameterValue")
    for member in "WaitTimeSeconds", "VisibilityTimeout":
        answer = door.ask("ReceiveMessage", {"QueueUrl": "waited", member: -(2**63)})
        check(f"a receive with a {member} of -2^63", answer.code, "InvalidParameterValue")


def try_attempts(door):
    """A receive that is sent twice while the first one waits may be sent again."""
    door.ask("CreateQueue", {"QueueName": "twice.fifo", "Attributes": {"FifoQueue": "true"}})
    receive = {"QueueUrl": "twice.fifo", "WaitTimeSeconds": 1, "ReceiveRequestAttemptId": "a"}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: Door(door.port).ask("ReceiveMessage", receive), range(2)))
    check("two at once", sorted(a.code or "" for a in answers), ["", "RequestThrottled"])


def try_names(daemon, door):
    """A name of our API may have any letters, and an ARN of it names it."""
    for name in ("jobs:dead", "dead", 'a"b'):
        check("a queue", daemon.ask("PUT", f"/queues/{name.replace(':', '%3A').replace(chr(34), '%22')}", {})[0], 201)
        daemon.ask("PUT", "/queues/source", {"dead_letter_queue": name})
        answer = door.ask("GetQueueAttributes", {"QueueUrl": "source", "AttributeNames": ["RedrivePolicy"]})
        shown = answer.json["Attributes"]["RedrivePolicy"]
        check("the ARN", json.loads(shown)["deadLetterTargetArn"], ARN + name)
        policy_of_name = json.dumps({"deadLetterTargetArn": ARN + name, "maxReceiveCount": 3})
        door.ask("SetQueueAttributes", {"QueueUrl": "source", "Attributes": {"RedrivePolicy": policy_of_name}})
        check("the queue", daemon.ask("GET", "/queues/source")[2]["settings"]["dead_letter_queue"], name)


def try_order(daemon, door):
    """A queue with the suffix .fifo that keeps no order is not a FIFO queue."""
    check("a queue", daemon.ask("PUT", "/queues/loose.fifo", {})[0], 201)
    answer = door.ask("CreateQueue", {"QueueName": "loose.fifo", "Attributes": {"FifoQueue": "true"}})
    check("CreateQueue", answer.code, "QueueAlreadyExists")


def try_deleted(daemon, door):
    """Neither a dead letter nor a task makes a queue that was deleted."""
    door.ask("CreateQueue", {"QueueName": "gone-dead"})
    door.ask("CreateQueue", {"QueueName": "gone", "Attributes": {"RedrivePolicy": policy("gone-dead")}})
    door.ask("CreateQueue", {"QueueName": "stays", "Attributes": {"RedrivePolicy": policy("gone-dead")}})
    door.ask("SendMessage", {"QueueUrl": "gone", "MessageBody": "x"})
    (message,) = daemon.ask("POST", "/queues/gone/receive", {})[2]["messages"]
    daemon.ask("POST", f"/queues/gone/deliveries/{message['receipt']}/reject", {"dead": True})
    received = door.ask("ReceiveMessage", {"QueueUrl": "gone-dead", "WaitTimeSeconds": 5, "VisibilityTimeout": 0})
    check("the dead letter", received.json["Messages"][0]["Body"], "x")
    door.ask("DeleteQueue", {"QueueUrl": "gone"})
    check("a task", door.ask("StartMessageMoveTask", {"SourceArn": ARN + "gone-dead"}).status, 200)
    check("the source", door.ask("GetQueueUrl", {"QueueName": "gone"}).code, "NonExistentQueue")
    received = door.ask("ReceiveMessage", {"QueueUrl": "gone-dead", "WaitTimeSeconds": 5})
    check("the letter", received.json["Messages"][0]["Body"], "x")


def try_tags(door):
    door.ask("CreateQueue", {"QueueName": "tagged", "tags": {"a": "1", "b": "2"}})
    check("a key twice", door.ask("UntagQueue", {"QueueUrl": "tagged", "TagKeys": ["a", "a"]}).status, 200)
    answer = door.ask("UntagQueue", {"QueueUrl": "tagged", "TagKeys": ["b\0x"]})
    check("a NUL", answer.code, "InvalidParameterValue")
    check("the tags", door.ask("ListQueueTags", {"QueueUrl": "tagged"}).json["Tags"], {"b": "2"})


def try_batch(door):
    """All entries that a queue refuses are named, and the others are sent."""
    door.ask("CreateQueue", {"QueueName": "batch"})
    large = {"k": {"DataType": "String", "StringValue": "x" * 66000}}
    entries = [{"Id": str(i), "MessageBody": "x", "MessageAttributes": large if i else {}} for i in range(10)]
    answer = door.ask("SendMessageBatch", {"QueueUrl": "batch", "Entries": entries})
    check("Successful", [e["Id"] for e in answer.json["Successful"]], ["0"])
    check("Failed", [e["Id"] for e in answer.json["Failed"]], [str(i) for i in range(1, 10)])


def try_sizes(program):
    """A smaller --max-body-bytes holds here, too."""
    with Daemon(program, "--max-body-bytes=65536") as daemon:
        door = Door(daemon.port)
        door.ask("CreateQueue", {"QueueName": "q"})
        check("the limit", door.ask("SendMessage", {"QueueUrl": "q", "MessageBody": '"' * 65536}).status, 200)
        answer = door.ask("SendMessage", {"QueueUrl": "q", "MessageBody": "x" * 65537})
        check("above it", answer.code, "InvalidParameterValue")
        attributes = door.ask("GetQueueAttributes", {"QueueUrl": "q", "AttributeNames": ["MaximumMessageSize"]})
        check("MaximumMessageSize", attributes.json["Attributes"], {"MaximumMessageSize": "65536"})


def main(program):
    with Daemon(program) as daemon:
        door = Door(daemon.port)
        try_move(daemon, door)
        try_receive(door)
        try_numbers(door)
        try_attempts(door)
        try_names(daemon, door)
        try_order(daemon, door)
        try_deleted(daemon, door)
        try_tags(door)
        try_batch(door)
    try_sizes(program)


main(sys.argv[1])
