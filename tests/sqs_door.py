"""For the tests of the SQS endpoint: requests as SDKs send them, the form of all answers,
and the actions and members that handlers/sqs/sqs.c names.
"""
import http.client
import json
import pathlib
import re
import socket

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "handlers/sqs/sqs.c"
JSON = "application/x-amz-json-1.0"
# Whose fault an error is, by the first digit of its status.
BLAMES = {4: "Sender", 5: "Receiver"}


def actions_of_source():
    """{action: {member: (kind, whether it is required)}}, as the program declares them."""
    text = SOURCE.read_text()
    lists = {}
    for name, rows in re.findall(r"struct sqs_member (\w+)\[\] = \{(.*?)\bEND\b", text, re.S):
        found = re.findall(r'\{\s*"(\w+)",\s*JSON_IS_(\w+),\s*(true|false)\s*\}', rows)
        lists[name] = {member: (kind, required == "true") for member, kind, required in found}
        if "QUEUE_URL" in rows:
            lists[name]["QueueUrl"] = ("TEXT", True)
    table = text[text.index("#define ACTIONS(A)") : text.index("A(unknown,")]
    actions = {action: lists[members] for action, members in re.findall(r"\tA\((\w+), (\w+), \w+\)", table)}
    assert len(actions) >= 19, "the form of sqs.c has changed"
    return actions


class Answer:
    """An answer of the endpoint."""

    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data
        try:
            self.json = json.loads(data)
        except ValueError:
            self.json = None

    @property
    def code(self):
        """The name of the error, as older SDKs read it; None for a success."""
        code = self.headers.get("x-amzn-query-error")
        return code and code.partition(";")[0].removeprefix("AWS.SimpleQueueService.")

    def faults(self):
        """What is not as AWS's form has it."""
        found = []
        if self.headers.get("Content-Type") != JSON:
            found.append(f"Content-Type is {self.headers.get('Content-Type')}")
        if not self.headers.get("x-amzn-RequestId"):
            found.append("no x-amzn-RequestId")
        if not isinstance(self.json, dict):
            return [*found, "the body is no object"]
        if self.status == 200:
            return found + ["a success with an error"] * bool(self.code or "__type" in self.json)
        blame = BLAMES.get(self.status // 100)
        if not re.fullmatch(rf"[A-Za-z.]+;{blame}", self.headers.get("x-amzn-query-error", "")):
            found.append(f"x-amzn-query-error is {self.headers.get('x-amzn-query-error')}")
        if not re.fullmatch(r"com\.amazonaws\.sqs#[A-Za-z]+", self.json.get("__type", "")):
            found.append(f"__type is {self.json.get('__type')}")
        if not self.json.get("message") or set(self.json) != {"__type", "message"}:
            found.append("members of the error")
        if self.status == 503 and not self.headers.get("Retry-After"):
            found.append("no Retry-After")
        if self.code == "InternalFailure":
            found.append("InternalFailure")
        return found

    def __str__(self):
        return f"{self.status} {self.code or ''} {self.data[:300]!r}"


class Door:
    """The SQS endpoint of a daemon."""

    def __init__(self, port, token=None):
        self.port, self.token = port, token

    def headers(self, action):
        signed = {"Authorization": f"AWS4-HMAC-SHA256 Credential={self.token}/20261130/eu-central-1/sqs/aws4_request"}
        return {"Content-Type": JSON, "X-Amz-Target": f"AmazonSQS.{action}"} | (signed if self.token else {})

    def ask(self, action, request, headers=(), path="/", method="POST", timeout=60):
        """The answer to a request: an object, or the bytes of a body."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, self.headers(action) | dict(headers))
            answer = connection.getresponse()
            if answer.length is None:  # the headers were cut off
                raise http.client.IncompleteRead(b"")
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def begin_receive(self, url, wait_s=20):
        """A connection whose receive waits."""
        connection = socket.create_connection(("127.0.0.1", self.port), 30)
        body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": wait_s}).encode()
        head = {"Host": "localhost", "Content-Length": len(body)} | self.headers("ReceiveMessage")
        lines = [b"POST / HTTP/1.1", *(f"{name}: {value}".encode() for name, value in head.items())]
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        return connection

    def must(self, action, request, **more):
        """The members of a success."""
        answer = self.ask(action, request, **more)
        assert answer.status == 200 and not answer.faults(), f"{action} {request}: {answer} {answer.faults()}"
        return answer.json
