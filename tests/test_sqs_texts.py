#!/usr/bin/env python3
"""Texts and attributes pass the door that speaks SQS unchanged:
tests/test_sqs_texts.py PATTERND [SEED]

Sends random texts, most of them JSON or nearly JSON, and random attributes. What SQS receives must
be what SQS sent, with the digests that this test computes. An object or array that the API sends
must come back to the API byte for byte, after SQS has received it and sent it again.
"""
import base64
import hashlib
import http.client
import random
import struct
import sys

from stage import Daemon

BATCHES, ATTRIBUTES, VALUES = 60, 150, 100
NUMBERS = ("0", "-0", "1.0", "1e5", "1E+5", "12345678901234567890", "0.1e-7", "1e400")
LETTERS = ("a", "é", "\\n", "\\u00e9", "\\ud83d\\ude00", "😀", "\\/", "/", '\\"', "\x7f")
PIECES = ("\t", "\n", "\r", " ", '"', "\\", "{", "}", "[", "]", ":", ",", "0", "-", ".", "null", "\ufffd", "\ue000",
          "\ud7ff", "\u2028", "<", "&", "\\u0000", '""', '{"a":1}', "\U0010fffd")  # fmt: skip


class Texts:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, pieces, least, most):
        return "".join(self.random.choice(pieces) for _ in range(self.random.randint(least, most)))

    def json(self, depth=0):
        """JSON as a careless program writes it: blanks, equal names, any form of numbers."""
        kind = self.random.randrange(7 if depth < 5 else 5)
        if kind == 0:
            return self.random.choice(NUMBERS)
        if kind == 1:
            return self.random.choice(("true", "false", "null"))
        if kind < 5:
            return f'"{self.some(LETTERS, 0, 6)}"'
        blank = self.some(" \n\t", 0, 1)
        items = [blank + self.json(depth + 1) + blank for _ in range(self.random.randrange(4))]
        if kind == 5:
            return "[" + ",".join(items) + "]"
        return "{" + ",".join(f'"{self.some("ab", 0, 1)}"{blank}:{item}' for item in items) + "}"

    def text(self):
        chance = self.random.random()
        if chance < 0.1:
            levels = self.random.choice((14, 15, 16, 28, 29, 30, 31, 32, 33, 40, 61, 62, 63, 64, 65, 100))
            return "[" * levels + "5" + "]" * levels
        if chance < 0.4:
            return self.some(PIECES, 1, 30)
        text = self.json()
        at = self.random.randrange(len(text) + 1)
        return text if chance < 0.9 else text[:at] + self.random.choice(PIECES) + text[at:]

    def attribute(self):
        kind = self.random.randrange(3)
        if kind == 0:
            kinds, text = ("String", "String.é", "String.a=%2C"), self.some("aé😀 =,;\n", 1, 40)
        elif kind == 1:
            kinds, text = ("Number", "Number.int", "Number.a,b=Number"), self.random.choice(NUMBERS[:5])
        else:
            return {"DataType": "Binary.png", "BinaryValue": base64.b64encode(self.random.randbytes(30)).decode()}
        return {"DataType": self.random.choice(kinds), "StringValue": text}

    def attributes(self):
        names = {self.some("aB_-é0", 1, 5) + self.random.choice(("", ".x")) for _ in range(self.random.randint(1, 10))}
        return {name: self.attribute() for name in names}


def sized(data):
    return struct.pack(">I", len(data)) + data


def digest_of(attributes):
    """AWS's MD5OfMessageAttributes."""
    digest = hashlib.md5()
    for name, value in sorted(attributes.items(), key=lambda item: item[0].encode()):
        is_binary = "BinaryValue" in value
        data = base64.b64decode(value["BinaryValue"]) if is_binary else value["StringValue"].encode()
        digest.update(sized(name.encode()) + sized(value["DataType"].encode()))
        digest.update((b"\2" if is_binary else b"\1") + sized(data))
    return digest.hexdigest()


def sqs(daemon, action, **request):
    headers = {"X-Amz-Target": f"AmazonSQS.{action}"}
    status, _, answer = daemon.ask("POST", "/", {"QueueUrl": "texts"} | request, headers)
    assert status == 200, (action, request, answer)
    return answer


def receive(daemon):
    messages = sqs(daemon, "ReceiveMessage", MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages", [])
    for message in messages:
        sqs(daemon, "DeleteMessage", ReceiptHandle=message["ReceiptHandle"])
    return messages


def try_batch(daemon, texts):
    sent = {str(i): texts.text() for i in range(10)}
    answer = sqs(daemon, "SendMessageBatch", Entries=[{"Id": i, "MessageBody": text} for i, text in sent.items()])
    assert "Failed" not in answer, (answer["Failed"], sent)
    got = {message["MessageId"]: message for message in receive(daemon)}
    for entry in answer["Successful"]:
        text, message = sent[entry["Id"]], got[entry["MessageId"]]
        assert message["Body"] == text, (text, message["Body"])
        digest = hashlib.md5(text.encode()).hexdigest()
        assert entry["MD5OfMessageBody"] == message["MD5OfBody"] == digest, text


def try_attributes(daemon, texts):
    attributes = texts.attributes()
    sent = sqs(daemon, "SendMessage", MessageBody="x", MessageAttributes=attributes)
    (message,) = receive(daemon)
    assert message["MessageAttributes"] == attributes, (attributes, message)
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == digest_of(attributes), attributes


def ask_raw(daemon, path, body):
    """The answer's bytes: a parser would lose equal names, and the form of numbers."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    connection.request("POST", path, body.encode(), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def try_value(daemon, texts):
    value = f"[{texts.json()}]" if texts.random.random() < 0.5 else f'{{"a":{texts.json()}}}'
    status, answer = ask_raw(daemon, "/queues/texts/messages", f'{{"body":{value}}}')
    if status == 400 and "duplicate name" in answer:
        return
    assert status == 201, (value, answer)
    (message,) = receive(daemon)
    sqs(daemon, "SendMessage", MessageBody=message["Body"])
    _, answer = ask_raw(daemon, "/queues/texts/receive", '{"acknowledge":true}')
    assert f'"body":{value},' in answer, (value, message["Body"], answer)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    texts = Texts(seed)
    with Daemon(sys.argv[1]) as daemon:
        sqs(daemon, "CreateQueue", QueueName="texts")
        for tries, try_one in ((BATCHES, try_batch), (ATTRIBUTES, try_attributes), (VALUES, try_value)):
            for _ in range(tries):
                try_one(daemon, texts)


main()
