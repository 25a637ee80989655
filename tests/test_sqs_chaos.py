#!/usr/bin/env python3
"""Messages of SQS under cuts and disconnects: tests/test_sqs_chaos.py PATTERND [SECONDS [SEED]]

Senders repeat a request as an SDK does, with the same amz-sdk-invocation-id, through a proxy that
cuts requests and answers at random bytes. Receivers of a standard and a FIFO queue delete messages,
return them, hide them longer, forget them, or disconnect while they wait. At the end

- each message was delivered at least once, and stored exactly once;
- none was delivered after a receiver had deleted it with a receipt that was current;
- it had the MessageId that its sender was answered;
- in a FIFO group none was delivered after a later one, and sequence numbers rise.
"""
import collections
import http.client
import json
import random
import select
import socket
import struct
import sys
import threading
import time
import uuid

from sqs_door import Door
from stage import Daemon

SECONDS = 4
SENDERS, RECEIVERS, GROUPS = 4, 3, 3
CUT, CUT_REQUEST = 0.3, 0.05
BYTES_MOST = 700  # before a cut: most answers are shorter
VISIBILITY_S = 2
SEND_PAUSE_S = 0.06  # a FIFO group is worked message by message
DRAIN_S = 30
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the connection is reset
STANDARD, FIFO = "chaos", "chaos.fifo"

Sent = collections.namedtuple("Sent", "queue group number")
Delivery = collections.namedtuple("Delivery", "sent began ended id sequence")
Deletion = collections.namedtuple("Deletion", "sent ended")


class Proxy:
    """Passes connections on, and cuts some."""

    def __init__(self, port, seed):
        self.target, self.random = port, random.Random(f"{seed}-proxy")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port, self.cuts, self.is_calm = self.listener.getsockname()[1], 0, False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            chance = 1 if self.is_calm else self.random.random()
            most = self.random.randint(0, BYTES_MOST)
            left = [most if chance < CUT_REQUEST else None, most if CUT_REQUEST <= chance < CUT else None]
            threading.Thread(target=self.serve, args=(client, left, self.random.random() < 0.5), daemon=True).start()

    def serve(self, client, left, resets):
        """`left`: how many bytes of the request and of the answer pass; None: all."""
        with client, socket.create_connection(("127.0.0.1", self.target)) as daemon:
            ends = {client: (daemon, 0), daemon: (client, 1)}
            while True:
                for source in select.select(list(ends), [], [])[0]:
                    other, way = ends[source]
                    try:
                        data = source.recv(65536)
                        if left[way] is not None:
                            data, left[way] = data[: left[way]], max(left[way] - len(data), 0)
                        other.sendall(data)
                    except OSError:
                        return
                    if left[way] == 0:
                        self.cuts += 1
                        if resets:
                            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                        return
                    if not data:
                        return


class Chaos:
    """The queues, and what happened to each message."""

    def __init__(self, daemon, seconds, seed):
        self.daemon, self.seed = daemon, seed
        self.direct = Door(daemon.port)
        self.proxy = Proxy(daemon.port, seed)
        self.cut = Door(self.proxy.port)
        self.until = time.monotonic() + seconds
        self.has_sent, self.is_over = threading.Event(), threading.Event()
        self.sent, self.deliveries, self.deletions, self.wrong = {}, [], [], []
        hidden = {"VisibilityTimeout": str(VISIBILITY_S)}
        self.direct.must("CreateQueue", {"QueueName": STANDARD, "Attributes": hidden})
        self.direct.must("CreateQueue", {"QueueName": FIFO, "Attributes": hidden | {"FifoQueue": "true"}})

    def run(self, work, *args):
        """A thread; what it raises fails the test."""

        def guarded():
            try:
                work(random.Random(f"{self.seed}-{work.__name__}-{args}"), *args)
            except BaseException as error:
                self.wrong.append(f"{work.__name__}{args}: {type(error).__name__}: {error}")
                raise

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def ask(self, rng, door, action, request):
        """The answer, after as many tries as needed, with what an SDK keeps over its tries."""
        headers = {"amz-sdk-invocation-id": str(uuid.UUID(int=rng.getrandbits(128)))}
        while True:
            try:
                answer = door.ask(action, request, headers)
            except (OSError, http.client.HTTPException):
                continue
            if answer.status < 500:
                assert not answer.faults(), f"{action} {request}: {answer} {answer.faults()}"
                return answer

    # ---- Senders ----

    def send(self, rng, sender):
        """Each group has one sender, which knows its order."""
        numbers = collections.Counter()
        while time.monotonic() < self.until:
            time.sleep(rng.uniform(0, SEND_PAUSE_S))
            queue = rng.choice((STANDARD, FIFO))
            count = rng.choice((1, 1, 1, 2, 5))
            entries = {f"e{i}": self.entry(rng, numbers, queue, sender) for i in range(count)}
            if count == 1:
                asked = entries["e0"][1]
                answer = self.ask(rng, self.cut, "SendMessage", {"QueueUrl": queue} | asked)
                assert answer.status == 200, answer
                self.sent[entries["e0"][0]] = answer.json["MessageId"]
                continue
            asked = [{"Id": name} | each for name, (_, each) in entries.items()]
            answer = self.ask(rng, self.cut, "SendMessageBatch", {"QueueUrl": queue, "Entries": asked})
            assert answer.status == 200 and "Failed" not in answer.json, answer
            for each in answer.json["Successful"]:
                self.sent[entries[each["Id"]][0]] = each["MessageId"]

    @staticmethod
    def entry(rng, numbers, queue, sender):
        group = f"{sender}-{rng.randrange(GROUPS)}"
        numbers[queue, group] += 1
        sent = Sent(queue, group, numbers[queue, group])
        members = {"MessageBody": json.dumps(sent._asdict())}
        if queue == FIFO:
            members |= {"MessageGroupId": group, "MessageDeduplicationId": f"{group}-{sent.number}"}
        return sent, members

    # ---- Receivers ----

    def receive(self, rng, queue, name):
        """Until all messages are deleted."""
        door = self.cut if name % 2 else self.direct
        while not self.is_over.is_set():
            asked = {"QueueUrl": queue, "MaxNumberOfMessages": rng.randint(1, 10), "AttributeNames": ["All"]}
            asked["WaitTimeSeconds"] = rng.choice((0, 1))
            if queue == FIFO and rng.random() < 0.5:
                asked["ReceiveRequestAttemptId"] = str(uuid.UUID(int=rng.getrandbits(128)))
            try:
                began = time.monotonic()
                answer = door.ask("ReceiveMessage", asked)
            except (OSError, http.client.HTTPException):
                continue
            assert answer.status == 200, answer
            got = [self.delivered(each, began) for each in answer.json.get("Messages", ())]
            self.treat(rng, door, queue, got)

    def delivered(self, message, began):
        sent = Sent(**json.loads(message["Body"]))
        sequence = message["Attributes"].get("SequenceNumber")
        self.deliveries.append(Delivery(sent, began, time.monotonic(), message["MessageId"], sequence))
        return sent, began, message["ReceiptHandle"]

    def treat(self, rng, door, queue, got):
        """Deletes, hides or forgets deliveries; the forgotten ones come again."""
        if self.has_sent.is_set() or rng.random() < 0.5:
            entries = [{"Id": str(i), "ReceiptHandle": each[2]} for i, each in enumerate(got)]
            asked = {"QueueUrl": queue, "Entries": entries}
            answer = self.ask(rng, door, "DeleteMessageBatch", asked) if got else None
            for each in answer.json["Successful"] if got else ():
                self.deleted(*got[int(each["Id"])][:2])
            return
        for sent, began, receipt in got:
            asked = {"QueueUrl": queue, "ReceiptHandle": receipt}
            chance = rng.random()
            if chance < 0.6:
                if self.ask(rng, door, "DeleteMessage", asked).status == 200:
                    self.deleted(sent, began)
            elif chance < 0.9:
                self.ask(rng, door, "ChangeMessageVisibility", asked | {"VisibilityTimeout": rng.choice((0, 0, 1, 3))})

    def deleted(self, sent, began):
        """Only a current receipt deletes: an older one is answered alike, and deletes nothing."""
        ended = time.monotonic()
        if ended - began < VISIBILITY_S:
            self.deletions.append(Deletion(sent, ended))

    def disconnect(self, rng, queue):
        while not self.has_sent.is_set():
            with self.direct.begin_receive(queue):
                time.sleep(rng.choice((0, 0.001, 0.01, 0.1)))

    # ---- What must hold ----

    def left(self, queue):
        """How many messages the queue has."""
        names = ["ApproximateNumberOfMessages" + kind for kind in ("", "NotVisible", "Delayed")]
        asked = {"QueueUrl": queue, "AttributeNames": names}
        return sum(map(int, self.direct.must("GetQueueAttributes", asked)["Attributes"].values()))

    def check(self):
        seen = {each.sent for each in self.deliveries}
        self.wrong += [f"never delivered: {each}" for each in set(self.sent) - seen]
        for queue in STANDARD, FIFO:
            count = sum(each.queue == queue for each in self.sent)
            stored = self.daemon.ask("GET", f"/queues/{queue}")[2]["sent"]
            if stored != count:
                self.wrong.append(f"{queue}: {count} messages were sent, {stored} stored")
        ended = {each.sent: each.ended for each in reversed(self.deletions)}
        for each in self.deliveries:
            if each.began > ended.get(each.sent, each.began):
                self.wrong.append(f"delivered after its deletion: {each}")
            if each.id != self.sent.get(each.sent):
                self.wrong.append(f"sent as {self.sent.get(each.sent)}: {each}")
        self.check_groups()

    def check_groups(self):
        groups = collections.defaultdict(list)
        for each in self.deliveries:
            if each.sent.queue == FIFO:
                groups[each.sent.group].append(each)
        for group in groups.values():
            group.sort(key=lambda each: each.began)
            done = collections.deque(sorted(group, key=lambda each: each.ended))
            latest = 0
            for each in group:
                while done and done[0].ended < each.began:
                    latest = max(latest, done.popleft().sent.number)
                if each.sent.number < latest:
                    self.wrong.append(f"delivered after number {latest}: {each}")
            sequences = [int(each.sequence) for each in sorted(group, key=lambda each: each.sent.number)]
            if sequences != sorted(sequences):
                self.wrong.append(f"sequence numbers of {group[0].sent.group} do not rise")


def run(chaos):
    senders = [chaos.run(chaos.send, name) for name in range(SENDERS)]
    others = [chaos.run(chaos.receive, queue, name) for queue in (STANDARD, FIFO) for name in range(RECEIVERS)]
    others += [chaos.run(chaos.disconnect, queue) for queue in (STANDARD, FIFO)]
    for sender in senders:
        sender.join()
    chaos.has_sent.set()
    chaos.proxy.is_calm = True
    until = time.monotonic() + DRAIN_S
    while any(chaos.left(queue) for queue in (STANDARD, FIFO)) and not chaos.wrong:
        if time.monotonic() > until:
            chaos.wrong.append(f"left: {chaos.left(STANDARD)} and {chaos.left(FIFO)} messages")
        time.sleep(0.05)
    chaos.is_over.set()
    for other in others:
        other.join(30)
    chaos.check()
    print(f"{len(chaos.sent)} messages, {len(chaos.deliveries)} deliveries, {chaos.proxy.cuts} cuts")


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(10**6)
    with Daemon(sys.argv[1]) as daemon:
        chaos = Chaos(daemon, seconds, seed)
        run(chaos)
    if chaos.wrong:
        print("\n".join(chaos.wrong[:20]), f"\n{len(chaos.wrong)} faults; the seed is {seed}")
    return not chaos.wrong


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
