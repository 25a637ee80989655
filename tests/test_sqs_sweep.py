#!/usr/bin/env python3
"""Each action of SQS in every way to go wrong: tests/test_sqs_sweep.py PATTERND [ACTION...]

Each action of handlers/sqs/sqs.c is tried with an absent queue; with members that are absent, null
or of a wrong type; with bodies that are not an object; without a token, with an unknown one, and
with one that lacks the scope; and while Redis is away or full. Each answer must have AWS's form and
the expected error, and never be InternalFailure. Then clients disconnect during a receive that
waits, the daemon stops, and requests come to other paths and with odd addresses of queues.
"""
import base64
import concurrent.futures
import copy
import hashlib
import http.client
import json
import pathlib
import sys
import tempfile
import threading
import time

from sqs_door import Door, actions_of_source
from stage import Daemon, Redis, redis, wait_until

ANSWERED = "answered"
ABSENT = "NonExistentQueue"
QUEUE = {"QueueUrl": "$url"}
ENTRY = {"Id": "a", "ReceiptHandle": "$receipt"}
ATTRIBUTES = {"a": {"DataType": "String", "StringValue": "x"}, "b": {"DataType": "Binary", "BinaryValue": "eHg="}}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}}
SENT = {"MessageBody": "x", "DelaySeconds": 0, "MessageAttributes": ATTRIBUTES, "MessageSystemAttributes": TRACE}
GROUPED = {"MessageGroupId": "g", "MessageDeduplicationId": "$new"}
FIFO = {"QueueUrl": "$fifo"}
# Each action: its scope, all its members, and the code of its answer; None: it succeeds. $url is a
# queue whose dead letters go to $dead, $receipt a delivery of it, $free a queue that is absent, and
# $new a new text.
ACTIONS = {
    "AddPermission": (None, {}, "UnsupportedOperation"),
    "CancelMessageMoveTask": ("manage", {"TaskHandle": "$handle"}, "ResourceNotFoundException"),
    "ChangeMessageVisibility": ("receive", QUEUE | {"ReceiptHandle": "$receipt", "VisibilityTimeout": 5}, None),
    "ChangeMessageVisibilityBatch": ("receive", QUEUE | {"Entries": [ENTRY | {"VisibilityTimeout": 5}]}, None),
    "CreateQueue": (
        "manage", {"QueueName": "$free", "Attributes": {"DelaySeconds": "0"}, "tags": {"a": "b"}}, None
    ),
    "DeleteMessage": ("receive", QUEUE | {"ReceiptHandle": "$receipt"}, None),
    "DeleteMessageBatch": ("receive", QUEUE | {"Entries": [ENTRY]}, None),
    "DeleteQueue": ("manage", QUEUE, None),
    "GetQueueAttributes": ("read", QUEUE | {"AttributeNames": ["All"]}, None),
    "GetQueueUrl": ("any", {"QueueName": "$name"}, None),
    "ListDeadLetterSourceQueues": ("read", {"QueueUrl": "$dead", "NextToken": "", "MaxResults": 5}, None),
    "ListMessageMoveTasks": ("read", {"SourceArn": "$dead_arn", "MaxResults": 1}, None),
    "ListQueueTags": ("read", QUEUE, None),
    "ListQueues": ("list", {"QueueNamePrefix": "s", "NextToken": "", "MaxResults": 5}, None),
    "PurgeQueue": ("manage", QUEUE, None),
    "ReceiveMessage": (
        "receive",
        QUEUE
        | {"AttributeNames": ["All"], "MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
        | {"MaxNumberOfMessages": 1, "VisibilityTimeout": 5, "WaitTimeSeconds": 0, "ReceiveRequestAttemptId": "$new"},
        None,
    ),
    "RemovePermission": (None, {}, "UnsupportedOperation"),
    "SendMessage": ("send", FIFO | SENT | GROUPED, None),
    "SendMessageBatch": ("send", FIFO | {"Entries": [{"Id": "a"} | SENT | GROUPED]}, None),
    "SetQueueAttributes": ("manage", QUEUE | {"Attributes": {"DelaySeconds": "1", "Policy": "{}"}}, None),
    "StartMessageMoveTask": (
        "manage", {"SourceArn": "$dead_arn", "DestinationArn": "$arn", "MaxNumberOfMessagesPerSecond": 5}, None
    ),
    "TagQueue": ("manage", QUEUE | {"Tags": {"a": "b"}}, None),
    "UntagQueue": ("manage", QUEUE | {"TagKeys": ["a"]}, None),
}
KINDS = {"BOOL": True, "INTEGER": 5, "REAL": 5.5, "TEXT": "x", "ARRAY": ["x"], "OBJECT": {"x": "x"}}
NOT_JSON = (b"{", b"no", b'{"QueueUrl":}', b"\xff", b'{"QueueUrl":"\xff"}', b"[" * 500, b"{}{}", b'{"a":"\\ud800"}')
NO_OBJECT = (b"[]", b'"x"', b"5", b"true", b"[{}]")
# What a member that types do not require is needed for: a batch, and FIFO queues.
NEEDED = {"Entries": "EmptyBatchRequest", "MessageGroupId": "MissingParameter"}
NEEDED |= {"MessageDeduplicationId": "InvalidParameterValue"}
SETTLED_S = 0.4  # until a receive that waits has no command at Redis
VERBS = ("send", "receive", "read", "manage")


class Sweep:
    """Asks, and collects what is not as expected."""

    def __init__(self, actions):
        self.actions, self.wrong, self.asked, self.count = actions, [], 0, 0
        self.lock = threading.Lock()

    def check(self, what, answer, *expected, refused=None):
        """Each of `expected` is the code of an error, None for a success, or ANSWERED for any."""
        self.asked += 1
        faults = answer.faults()
        if ANSWERED not in expected and answer.code not in expected:
            faults.append(f"expected {' or '.join(map(str, expected))}")
        if refused and answer.status != refused:
            faults.append(f"expected the status {refused}")
        if faults:
            self.wrong.append(f"{what}: {answer}: {', '.join(faults)}")

    def fill(self, value, known):
        if isinstance(value, dict):
            return {name: self.fill(each, known) for name, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each, known) for each in value]
        return known.get(value, value) if isinstance(value, str) else value

    def prepare(self, door):
        """The values of the placeholders: new queues, and the receipt of a message."""
        with self.lock:
            self.count += 1
            name = f"sweep-{self.count}"
        fifo = {"FifoQueue": "true"}
        known = {"$name": name, "$free": f"{name}-free", "$new": f"{name}-new", "$dead_arn": arn(f"{name}-dead")}
        known["$dead"] = door.must("CreateQueue", {"QueueName": f"{name}-dead"})["QueueUrl"]
        known["$fifo"] = door.must("CreateQueue", {"QueueName": f"{name}.fifo", "Attributes": fifo})["QueueUrl"]
        handle = json.dumps({"taskId": "x", "sourceArn": known["$dead_arn"]})
        known["$handle"] = base64.b64encode(handle.encode()).decode()
        policy = json.dumps({"deadLetterTargetArn": arn(f"{name}-dead"), "maxReceiveCount": 100})
        made = {"QueueName": name, "Attributes": {"RedrivePolicy": policy}}
        known["$url"], known["$arn"] = door.must("CreateQueue", made)["QueueUrl"], arn(name)
        door.must("SendMessage", {"QueueUrl": name, "MessageBody": "x"})
        known["$receipt"] = door.must("ReceiveMessage", {"QueueUrl": name})["Messages"][0]["ReceiptHandle"]
        return known

    def request(self, action, known):
        return self.fill(copy.deepcopy(ACTIONS[action][1]), known)

    def is_well(self, door, what):
        self.check(f"ListQueues after {what}", door.ask("ListQueues", {}), None)


def arn(name):
    return f"arn:aws:sqs:us-east-1:000000000000:{name}"


def check_table(actions):
    """An action or a member that the table lacks would not be tried."""
    lacking = set(actions) - set(ACTIONS)
    assert not lacking, f"add rows to ACTIONS: {lacking}"
    for action, members in actions.items():
        given = set(ACTIONS[action][1])
        assert given == set(members), f"{action}: the table has {sorted(given)}, the door {sorted(members)}"


# ---- What is wrong with the request ----


def try_good(sweep, door, action):
    known = sweep.prepare(door)
    sweep.check(action, door.ask(action, sweep.request(action, known)), ACTIONS[action][2])


def try_absent_queue(sweep, door, action):
    known = sweep.prepare(door)
    free = known | {"$url": known["$free"], "$name": known["$free"], "$dead": known["$free"], "$fifo": "free.fifo"}
    free |= {"$dead_arn": arn("free"), "$arn": arn("free")}
    expected = {"ListQueues": None, "CreateQueue": None, "StartMessageMoveTask": "ResourceNotFoundException"}
    expected |= {"ListMessageMoveTasks": "ResourceNotFoundException", "CancelMessageMoveTask": ANSWERED}
    expected = expected.get(action, ACTIONS[action][2] or ABSENT)
    before = len(door.must("ListQueues", {"QueueNamePrefix": known["$free"]}).get("QueueUrls", ()))
    sweep.check(f"{action} of an absent queue", door.ask(action, sweep.request(action, free)), expected)
    made = len(door.must("ListQueues", {"QueueNamePrefix": known["$free"]}).get("QueueUrls", ())) - before
    if made != (action == "CreateQueue"):
        sweep.wrong.append(f"{action} of an absent queue made {made}")
    if "ReceiptHandle" in ACTIONS[action][1]:
        asked = sweep.request(action, free | {"$receipt": "nonsense"})
        sweep.check(f"{action} of an absent queue, no receipt", door.ask(action, asked), ABSENT)


def try_members(sweep, door, action):
    """Each member with wrong types, null, and absent."""
    known = sweep.prepare(door)
    for member, (kind, required) in sweep.actions[action].items():
        good = sweep.request(action, known)
        for other, value in KINDS.items():
            if other != kind:
                what = f"{action} with {member} {value!r}"
                sweep.check(what, door.ask(action, good | {member: value}), "SerializationException")
        absent = {name: value for name, value in good.items() if name != member}
        expected = "MissingParameter" if required else NEEDED.get(member, ACTIONS[action][2])
        for what, request in ("null", good | {member: None}), ("absent", absent):
            sweep.check(f"{action} with {member} {what}", door.ask(action, request), expected)
    good = sweep.request(action, known)
    sweep.check(f"{action} with more", door.ask(action, good | {"New": [{}], "new": 1}), ANSWERED)


def places(value, path=()):
    """The paths of all values within."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


def try_inner(sweep, door, action):
    """Each value within the members: of wrong types, and absent."""
    known = sweep.prepare(door)
    for path in places(ACTIONS[action][1]):
        if len(path) == 1:
            continue
        for value in (*KINDS.values(), None, "", "\0", -1, 2**70, [], {}, "x" * 300, ANSWERED):
            request = sweep.request(action, known)
            within = request
            for step in path[:-1]:
                within = within[step]
            if value == ANSWERED:
                del within[path[-1]]
            else:
                within[path[-1]] = value
            answer = door.ask(action, request)
            sweep.check(f"{action} {str(value)[:20]!r} at {path}", answer, ANSWERED)
            if answer.status not in (200, 400, 404):
                sweep.wrong.append(f"{action} {value!r} at {path}: {answer}")


def try_bodies(sweep, door, action):
    required = any(required for _, required in sweep.actions[action].values())
    refused = ACTIONS[action][2] == "UnsupportedOperation"
    for body in NOT_JSON:
        sweep.check(f"{action} with the body {body[:20]}", door.ask(action, body), "SerializationException")
    for body in NO_OBJECT:
        sweep.check(f"{action} with the body {body}", door.ask(action, body), "SerializationException")
    expected = (ACTIONS[action][2],) if refused else ("MissingParameter",) if required else (None,)
    for body in (b"", b"{}"):
        sweep.check(f"{action} with the body {body}", door.ask(action, body), *expected)


# ---- The token ----


def token_line(token, scopes):
    return f"{hashlib.sha256(token.encode()).hexdigest()} {' '.join(scopes)} # {token}\n"


def scopes_of(verbs, name):
    names = [name + ending for ending in ("", ".fifo", "-dead", "-free")]
    return [f"queues:{each}:{verb}" for verb in verbs for each in names]


def try_tokens(sweep, program, actions):
    """No token, an unknown one, one with all scopes but the action's, and one with only that."""
    names = [f"sweep-{number}" for number in range(1, len(actions) + 1)]
    lines = [token_line("owner", ["*"])]
    for action, name in zip(actions, names):
        verb = ACTIONS[action][0] or "any"
        others = ["queues:other:manage"] if verb == "any" else scopes_of([each for each in VERBS if each != verb], name)
        only = ["queues:list"] if verb == "list" else scopes_of([verb if verb != "any" else "send"], name)
        lines.append(token_line(f"without-{action}", others + (["queues:list"] if verb != "list" else [])))
        lines.append(token_line(f"only-{action}", only))
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder, "tokens")
        tokens.write_text("".join(lines))
        tokens.chmod(0o600)
        with Daemon(program, "--tokens", tokens) as daemon:
            for action in actions:
                try_token(sweep, daemon, action)
            sweep.is_well(Door(daemon.port, "owner"), "tokens")


def try_token(sweep, daemon, action):
    known = sweep.prepare(Door(daemon.port, "owner"))
    asked = sweep.request(action, known)
    for token, code in (None, "MissingAuthenticationToken"), ("unknown", "InvalidClientTokenId"):
        answer = Door(daemon.port, token).ask(action, asked)
        sweep.check(f"{action} with the token {token}", answer, code, refused=403)
    scope, _, expected = ACTIONS[action]
    if not scope:
        return
    answer = Door(daemon.port, f"without-{action}").ask(action, asked)
    if answer.code != expected or expected is None:  # else nothing was done
        sweep.check(f"{action} without its scope", answer, "AccessDenied", refused=403)
    only = Door(daemon.port, f"only-{action}")
    if "ReceiptHandle" in asked:  # judged by what the queue is
        answer = only.ask(action, asked | {"ReceiptHandle": "nonsense"})
        sweep.check(f"{action} with only its scope, no receipt", answer, "ReceiptHandleIsInvalid")
    answer = only.ask(action, asked)
    sweep.check(f"{action} with only its scope", answer, expected)
    if answer.code == "AccessDenied":
        sweep.wrong.append(f"{action} with only its scope: {answer}")


# ---- What is wrong with Redis ----


def try_redis(sweep, program, actions):
    with Redis() as server, Daemon(program, redis=server.url) as daemon:
        door = Door(daemon.port)
        known = {action: sweep.prepare(door) for action in actions}
        server.kill()
        for action in actions:
            answer = door.ask(action, sweep.request(action, known[action]))
            if ACTIONS[action][0]:
                sweep.check(f"{action} without Redis", answer, "ServiceUnavailable", refused=503)
            else:
                sweep.check(f"{action} without Redis", answer, ACTIONS[action][2])
        server.start()
        wait_until(lambda: door.ask("ListQueues", {}).status == 200, 20, "the daemon to reach Redis again")
        for action in actions:
            try_good(sweep, door, action)
        try_full(sweep, door, server, actions)


def try_full(sweep, door, server, actions):
    known = {action: sweep.prepare(door) for action in actions}
    redis(server.path, "CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis(server.path, "CONFIG", "SET", "maxmemory", "1")
    for action in actions:
        answer = door.ask(action, sweep.request(action, known[action]))
        sends, frees = action.startswith("SendMessage"), action in ("DeleteMessage", "DeleteQueue", "PurgeQueue")
        expected = (None, "ServiceUnavailable", ACTIONS[action][2])
        expected = ("ServiceUnavailable",) if sends else (None,) if frees else expected
        sweep.check(f"{action} with a full Redis", answer, *expected, refused=503 if sends else None)
    redis(server.path, "CONFIG", "SET", "maxmemory", "0")
    for action in actions:
        try_good(sweep, door, action)


# ---- Receives that wait ----


def waiting(daemon):
    """How many requests wait."""
    _, _, metrics = daemon.ask("GET", "/metrics")
    found = [line.split()[1] for line in metrics.splitlines() if line.startswith("patternd_requests_waiting ")]
    return int(found[0])
    return int(found[0]) if found else 0


def received(door, url):
    """(body, count) of all messages that are ready."""
    asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "AttributeNames": ["ApproximateReceiveCount"]}
    answer = door.must("ReceiveMessage", asked | {"WaitTimeSeconds": 5})
    return [(each["Body"], each["Attributes"]["ApproximateReceiveCount"]) for each in answer.get("Messages", ())]


def try_disconnect(sweep, daemon):
    """Before the send, and just as the message comes; then the delivery is not counted."""
    door = Door(daemon.port)
    for notices in (True, False) * 10:
        url = sweep.prepare(door)["$fifo"]
        with door.begin_receive(url):
            wait_until(lambda: waiting(daemon) == 1, 10, "a receive that waits")
        if notices:
            wait_until(lambda: waiting(daemon) == 0, 10, "the daemon to notice that the client is away")
        sent = {"QueueUrl": url, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        door.must("SendMessage", sent)
        found = received(door, url)
        if found != [("x", "1")]:
            sweep.wrong.append(f"after a disconnect {'that was noticed' * notices} a receive has {found}")
    sweep.is_well(door, "disconnects")


def try_outages(sweep, program):
    """A receive waits over an outage of Redis; a queue is deleted; Redis does not answer a send."""
    keeps = Redis("--appendonly", "yes", "--appendfsync", "always")
    with keeps as server, Daemon(program, redis=server.url) as daemon, concurrent.futures.ThreadPoolExecutor(1) as pool:
        door = Door(daemon.port)
        sent = {"QueueUrl": "outages", "MessageBody": "x"}

        def begin(wait_s):
            door.must("CreateQueue", {"QueueName": "outages"})
            asked = pool.submit(door.ask, "ReceiveMessage", {"QueueUrl": "outages", "WaitTimeSeconds": wait_s})
            wait_until(lambda: waiting(daemon) == 1, 10, "a receive that waits")
            time.sleep(SETTLED_S)
            return asked

        def restart():
            server.start()
            server.wait_up()
            wait_until(lambda: door.ask("ListQueues", {}).status == 200, 20, "the daemon to reach Redis again")

        asked = begin(20)
        server.kill()
        restart()
        door.must("SendMessage", sent)
        answer = asked.result()
        sweep.check("a receive over an outage", answer, None)
        if len((answer.json or {}).get("Messages", ())) != 1:
            sweep.wrong.append(f"a receive over an outage: {answer}")
        door.must("PurgeQueue", {"QueueUrl": "outages"})
        asked = begin(2)
        server.kill()
        sweep.check("a receive that ends in an outage", asked.result(), "ServiceUnavailable", refused=503)
        restart()
        asked = begin(20)
        door.must("DeleteQueue", {"QueueUrl": "outages"})
        sweep.check("a receive of a queue that is deleted", asked.result(), ABSENT)
        try_unanswered(sweep, door, server)


def try_unanswered(sweep, door, server):
    """Redis may have done what it did not answer: InternalFailure, and a retry is safe."""
    door.must("CreateQueue", {"QueueName": "unanswered"})
    sent, retried = {"QueueUrl": "unanswered", "MessageBody": "x"}, {"amz-sdk-invocation-id": "unanswered"}
    server.stop()
    answer = door.ask("SendMessage", sent, retried)
    server.go_on()
    if answer.code != "InternalFailure" or answer.faults() != ["InternalFailure"]:
        sweep.wrong.append(f"a send without an answer of Redis: {answer}: {answer.faults()}")
    message = (answer.json or {}).get("message", "")
    if not message.endswith("; it may or may not have taken effect; a repetition by the SDK makes no second message"):
        sweep.wrong.append(f"a send without an answer of Redis has the message {message}")
    wait_until(lambda: door.ask("SendMessage", sent, retried).status == 200, 20, "the retry of a send")
    found = received(door, "unanswered")
    if found != [("x", "1")]:
        sweep.wrong.append(f"a send that was repeated is received as {found}")


def try_shutdown(sweep, program):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with Daemon(program) as daemon:
            door = Door(daemon.port)
            url = sweep.prepare(door)["$fifo"]
            asked = pool.submit(door.ask, "ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20})
            wait_until(lambda: waiting(daemon) == 1, 10, "a receive that waits")
            began = time.monotonic()
        answer = asked.result()
        sweep.check("a receive that waits during the shutdown", answer, None)
        if answer.json != {} or time.monotonic() - began > 10:
            sweep.wrong.append(f"the shutdown during a receive: {answer}, {time.monotonic() - began:.1f} s")


# ---- Where it is asked ----

PATHS = {"/": None, "/000000000000/any": None, "/123456789012/a%2Fb": None, "/?x=1": None}
PATHS |= dict.fromkeys(("/sqs", "/sqs/", "/12/any", "/000000000000/", "/000000000000/a/b", "//"), "InvalidAddress")


def urls(known):
    """(address of a queue, what GetQueueAttributes answers): only its last part counts."""
    name = known["$name"]
    escaped = "".join(f"%{ord(letter):02x}" for letter in name)
    good = [name, f"/{name}", "/" * 12 + name, "/" * 100 + name, f"https://sqs.eu-1.amazonaws.com/1/{name}"]
    for url in (*good, escaped, f"http://x/0/{escaped.upper()}", f"ftp://{name}/{name}", f"?/#/{name}"):
        yield url, (None,)
    for url in ("", "/", "/" * 12, "/" * 100, "http://x/000000000000/"):
        yield url, ("InvalidAddress", "MissingParameter")
    refused = "InvalidAddress", "InvalidParameterValue", ABSENT
    odd = ["%", "%0", "%zz", "%00", "\0", "%ff", "%ed%a0%80", "a%2Fb", "..", "a\nb", "\x7f", "\U0001f600", "*", "{x}"]
    odd += [f"{name}%00", f"{name}\0", f"{name}/", f"{name}?x", "x" * 10000, "%61" * 10000, "receive", "settle"]
    for url in odd:
        yield url, refused


def try_places(sweep, daemon):
    door = Door(daemon.port)
    known = sweep.prepare(door)
    for path, code in PATHS.items():
        answer = door.ask("ListQueues", {}, path=path)
        sweep.check(f"ListQueues at {path}", answer, code, refused=code and 404)
    for url, expected in urls(known):
        for action in ("GetQueueAttributes", "SendMessage", "ReceiveMessage", "DeleteMessage", "PurgeQueue"):
            known["$url"] = known["$fifo"] = url
            expected_of = expected if action != "DeleteMessage" or None not in expected else (ANSWERED,)
            asked = {"QueueUrl": url, "MessageBody": "x"} if action == "SendMessage" else sweep.request(action, known)
            sweep.check(f"{action} of the address {url[:40]!r}", door.ask(action, asked), *expected_of)
    for target in ("ListQueues", "AmazonSQS.", "AmazonSQS.listQueues", "AmazonSQS.unknown", "AmazonSQS.none", "x"):
        answer = door.ask("", {}, {"X-Amz-Target": target})
        sweep.check(f"the target {target}", answer, "UnknownOperationException")
    for kind in ("application/json", "application/x-amz-json-1.1", "text/plain", ""):
        sweep.check(f"the type {kind}", door.ask("ListQueues", {}, {"Content-Type": kind}), ANSWERED)
    for prefix in "s*p", "*", "sweep-1*", "*" * 9:
        answer = door.ask("ListQueues", {"QueueNamePrefix": prefix})
        sweep.check(f"ListQueues with the prefix {prefix}", answer, None)
        if answer.json != {}:
            sweep.wrong.append(f"the prefix {prefix} is not taken literally: {answer}")
    try_methods(sweep, daemon)
    sweep.is_well(door, "addresses")


def try_pages(sweep, daemon):
    """All sources of a queue of dead letters, among more queues than a page has."""
    door = Door(daemon.port)
    for number in range(1001):
        door.must("CreateQueue", {"QueueName": f"page-{number}"})
    policy = json.dumps({"deadLetterTargetArn": arn("page-5"), "maxReceiveCount": 1})
    names = {f"page-source-{number}" for number in range(50)}
    for name in names:
        door.must("CreateQueue", {"QueueName": name, "Attributes": {"RedrivePolicy": policy}})
    found = door.must("ListDeadLetterSourceQueues", {"QueueUrl": "page-5"})
    if {url.rpartition("/")[2] for url in found["queueUrls"]} != names or "NextToken" in found:
        sweep.wrong.append(f"ListDeadLetterSourceQueues has {len(found['queueUrls'])} of {len(names)} sources")
    sweep.check("a task", door.ask("StartMessageMoveTask", {"SourceArn": arn("page-5")}), None)


def try_methods(sweep, daemon):
    """What is not for the door is as without it."""
    target = {"X-Amz-Target": "AmazonSQS.ListQueues"}
    for method, path in *((each, "/") for each in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")), ("GET", "/queues"):
        plain, with_header = daemon.ask(method, path), daemon.ask(method, path, headers=target)
        if plain[0] != with_header[0] or plain[1].get_content_type() != with_header[1].get_content_type():
            sweep.wrong.append(f"{method} {path} is {plain[0]}, and with the header {with_header[0]}")
    sent = daemon.ask("POST", "/queues/plain/messages", {"body": 1}, target)
    if sent[0] not in (200, 201):
        sweep.wrong.append(f"a path of the contract with the header: {sent[0]} {sent[2]}")


def try_closed(sweep, program):
    with Daemon(program, "--sqs=off") as daemon:
        for path, status in ("/", 405), ("/000000000000/any", 404):
            answer = daemon.ask("POST", path, b"{}", Door(0).headers("ListQueues"))
            if answer[0] != 400 or answer[1]["x-amzn-query-error"] != "AWS.SimpleQueueService.UnsupportedOperation;Sender":
                sweep.wrong.append(f"POST {path} with --sqs=off: {answer[0]} {answer[2]}")
            answer = daemon.ask("POST", path, b"{}", {"Content-Type": "application/json"})
            if answer[0] != status or answer[1].get_content_type() != "application/problem+json":
                sweep.wrong.append(f"POST {path} with --sqs=off and no header: {answer[0]} {answer[2]}")


def run_all(sweep, program):
    with Daemon(program) as daemon:
        door = Door(daemon.port)
        for attempt in (try_good, try_absent_queue, try_members, try_inner, try_bodies):
            for action in sweep.actions:
                attempt(sweep, door, action)
            sweep.is_well(door, attempt.__name__)
        try_disconnect(sweep, daemon)
        try_places(sweep, daemon)
        try_pages(sweep, daemon)
    sweep.count = 0  # the names in the file of tokens
    try_tokens(sweep, program, sweep.actions)
    try_redis(sweep, program, sweep.actions)
    try_outages(sweep, program)
    try_shutdown(sweep, program)
    try_closed(sweep, program)


def main():
    program, names = sys.argv[1], sys.argv[2:]
    actions = actions_of_source()
    check_table(actions)
    sweep = Sweep({name: members for name, members in actions.items() if not names or name in names})
    try:
        run_all(sweep, program)
    finally:
        print("\n".join(sweep.wrong), flush=True)
        print(f"{sweep.asked - len(sweep.wrong)} of {sweep.asked} answers are as expected")
    return not sweep.wrong


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
