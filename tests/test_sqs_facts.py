#!/usr/bin/env python3
"""What Amazon SQS answers, as other programs recorded it, and what the daemon answers:
tests/test_sqs_facts.py PATTERND|URL [NAME...]

Runs the facts of tests/facts/sqs.json, whose head explains their form, each with separate queues.
With names it runs only the facts whose names contain one of them. With a URL it asks what serves
there, such as another program that speaks SQS. With PATTERND_TEST_TOPOLOGY=cluster the daemon runs
on a Redis Cluster.
"""
import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import sys
import threading
import time
import urllib.parse

from stage import Daemon, servers

FACTS = pathlib.Path(__file__).resolve().parent / "facts/sqs.json"
AT_ONCE = 8
NOW_S = 60
PLACE = re.compile(r"\$\{(text:\d+|\w+)\}")
BASE64 = re.compile(r"\$\{base64:(.*)\}", re.S)
SIGNED = "AWS4-HMAC-SHA256 Credential=key/20261130/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"


class Differs(Exception):
    pass


def filled(value, known):
    """The value with all placeholders replaced."""
    if isinstance(value, dict):
        return {filled(name, known): filled(each, known) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, known) for each in value]
    if not isinstance(value, str):
        return value
    encoded = BASE64.fullmatch(value)
    if encoded:
        return base64.b64encode(filled(encoded[1], known).encode()).decode()
    return PLACE.sub(lambda m: "a" * int(m[1][5:]) if m[1].startswith("text:") else known[m[1]], value)


def member(answer, path):
    """The member at a path such as Messages.0.Body; None if it is absent."""
    for step in path.split("."):
        if isinstance(answer, list):
            answer = answer[int(step)] if int(step) < len(answer) else None
        else:
            answer = answer.get(step) if isinstance(answer, dict) else None
    return answer


def short(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 300 else f"{text[:280]}... ({len(text)} characters)"


def check(what, got, expected, exactly=False):
    """Lists must have equal lengths, and objects the expected members; `exactly`: no others."""
    if isinstance(expected, dict) and list(expected) == ["any order"]:
        check_any_order(what, got, expected["any order"], exactly)
    elif isinstance(expected, dict):
        if not isinstance(got, dict) or (exactly and set(got) != set(expected)):
            raise Differs(f"{what}: got {short(got)}, expected {'exactly ' if exactly else ''}{short(expected)}")
        for name, each in expected.items():
            check(f"{what}.{name}", got.get(name), each, exactly)
    elif isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            raise Differs(f"{what}: got {short(got)}, expected {short(expected)}")
        for i, each in enumerate(expected):
            check(f"{what}.{i}", got[i], each, exactly)
    elif not is_like(got, expected):
        raise Differs(f"{what}: got {short(got)}, expected {short(expected)}")


def check_any_order(what, got, expected, exactly):
    left = list(got or [])
    for each in expected:
        for candidate in left:
            with contextlib.suppress(Differs):
                check(what, candidate, each, exactly)
                left.remove(candidate)
                break
        else:
            raise Differs(f"{what}: got {short(got)}, expected in any order {short(expected)}")
    if left:
        raise Differs(f"{what}: got also {short(left)}")


def is_like(got, expected):
    if expected == "*":
        return got not in (None, "")
    if expected == "#":
        return isinstance(got, str) and got.isdigit()
    if expected == "@":  # in seconds or milliseconds
        return str(got).isdigit() and any(abs(int(got) / unit - time.time()) < NOW_S for unit in (1, 1000))
    if isinstance(expected, str) and expected.endswith("*"):
        return isinstance(got, str) and got.startswith(expected[:-1])
    if expected == 0:  # an instant
        return isinstance(got, int) and got >= 0
    return type(got) is type(expected) and got == expected


def check_error(status, headers, answer, step):
    """An error has its name twice: in x-amzn-query-error, for old clients, and in __type."""
    check("status", status, step["status"])
    if "code" in step:
        code, _, blame = headers.get("x-amzn-query-error", "").partition(";")
        check("x-amzn-query-error", code, step["code"])
        check("x-amzn-query-error, after the semicolon", blame, "Sender")
    if "type" in step:
        check("__type", str(answer.get("__type")).rpartition("#")[2], step["type"])  # as SDKs read it
    if "message" in step:
        check("message", answer.get("message", answer.get("Message")), step["message"])


def check_answer(status, headers, answer, step, known):
    check("x-amzn-requestid", headers.get("x-amzn-requestid"), "*")
    if "status" in step:
        check_error(status, headers, answer, step)
        return
    if status != 200:
        raise Differs(f"status: got {status} {short(answer)}, expected 200")
    check("Content-Type", headers.get("Content-Type"), "application/x-amz-json-1.0")
    check("answer", answer, step.get("members", {}))
    if "exactly" in step:
        check("answer", answer, step["exactly"], exactly=True)
    for path in step.get("absent", ()):
        if member(answer, path) is not None:
            raise Differs(f"{path}: got {short(member(answer, path))}, expected none")
    for path, expected in step.get("json", {}).items():
        check(path, json.loads(member(answer, path) or "null"), expected)
    for path, other in step.get("differs", {}).items():
        if member(answer, path) in (None, other):
            raise Differs(f"{path}: got {member(answer, path)}, expected another one")
    for path, other in step.get("greater", {}).items():
        if not int(member(answer, path) or 0) > int(other):
            raise Differs(f"{path}: got {member(answer, path)}, expected more than {other}")
    for name, path in step.get("keep", {}).items():
        check(path, member(answer, path), "*")
        known[name] = member(answer, path)


class Endpoint:
    def __init__(self, url):
        self.at = urllib.parse.urlsplit(url)

    def ask(self, action, request, headers):
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=40)
        sent = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{action}"}
        try:
            connection.request("POST", "/", json.dumps(request).encode(), sent | {"Authorization": SIGNED} | headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        try:
            return answer.status, answer.headers, json.loads(text or "{}")
        except ValueError:
            raise Differs(f"got {answer.status} {short(text)}, expected JSON") from None

    def make(self, key, attributes, known):
        """Makes a queue of a fact, and its three placeholders."""
        is_fifo = attributes.get("FifoQueue", "").lower() == "true"
        name = known[f"{key}_name"] = known["new"] + f"-{key}" + (".fifo" if is_fifo else "")
        made = {"QueueName": name, "Attributes": filled(attributes, known)}
        known[key] = self.must("CreateQueue", made)["QueueUrl"]
        asked = {"QueueUrl": known[key], "AttributeNames": ["QueueArn"]}
        known[f"{key}_arn"] = self.must("GetQueueAttributes", asked)["Attributes"]["QueueArn"]

    def must(self, action, request):
        status, _, answer = self.ask(action, request, {})
        if status != 200:
            raise Differs(f"{action} of a queue of the fact: got {status} {short(answer)}")
        return answer

    def step(self, step, known):
        time.sleep(step.get("pause", 0))
        during = [threading.Timer(0, self.step, (each, known)) for each in step.get("meanwhile", ())]
        for timer in during:
            timer.start()
        began = time.monotonic()
        while True:
            request = filled(step["request"], known)
            expected = filled({k: v for k, v in step.items() if k not in ("request", "meanwhile")}, known)
            try:
                check_answer(*self.ask(step["action"], request, step.get("headers", {})), expected, known)
                break
            except Differs:
                if time.monotonic() - began >= step.get("within_s", 0):
                    raise
                time.sleep(0.1)
        took = time.monotonic() - began
        for timer in during:
            timer.join()
        if not step.get("at_least_s", 0) <= took <= step.get("at_most_s", 60):
            raise Differs(f"it took {took:.2f} s")

    def run(self, fact):
        """What differs from the fact; None if nothing does."""
        known, number, action = {"new": f"facts-{secrets.token_hex(6)}"}, 0, ""
        try:
            for key, attributes in fact.get("queues", {}).items():
                self.make(key, attributes, known)
            for number, step in enumerate(fact["steps"], 1):
                action = step["action"]
                self.step(step, known)
        except (Differs, KeyError, OSError, http.client.HTTPException) as differs:
            return f"step {number} {action}: {type(differs).__name__ + ': ' if type(differs) is not Differs else ''}{differs}"
        finally:
            for key in fact.get("queues", {}):
                with contextlib.suppress(Exception):
                    self.ask("DeleteQueue", {"QueueUrl": known[key]}, {})
        return None


def run_all(url, names):
    facts = json.loads(FACTS.read_text())["facts"]
    facts = [fact for fact in facts if not names or any(name in fact["name"] for name in names)]
    assert facts, "no fact has such a name"
    endpoint = Endpoint(url)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(endpoint.run, facts))
    wrong = 0
    for fact, differs in zip(facts, found):
        if differs:
            wrong += 1
            print(f"{fact['name']}\n  {fact['source']}\n  {differs}")
    print(f"{len(facts) - wrong} of {len(facts)} facts hold")
    return wrong == 0


def main():
    program, names = sys.argv[1], sys.argv[2:]
    if program.startswith("http"):
        return run_all(program, names)
    with contextlib.ExitStack() as stack:
        redis = None
        if os.environ.get("PATTERND_TEST_TOPOLOGY") == "cluster":
            (redis,) = stack.enter_context(servers(pathlib.Path(program).parent, "cluster"))
        daemon = stack.enter_context(Daemon(program, redis=redis))
        return run_all(f"http://127.0.0.1:{daemon.port}", names)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
