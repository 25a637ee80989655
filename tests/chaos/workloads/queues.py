"""Queues: each message has its own number, so that the checks can follow it. Waiting workers
receive some of the messages. Messages are acknowledged in time, late or by the next receive,
rejected with or without counting, extended, or cancelled in flight.
"""
import time

NAMES = [f"queue-{i}" for i in range(2)]
AWAITED = "queue-awaited"
SETTINGS = {"max_receives": 1000, "visibility_ms": 1000, "dedupe_ms": 3600000, "backoff": {"base_ms": 0, "max_ms": 0}}
VISIBILITY_MOST_MS = 1500


def send(client, name, delays_ms):
    client.sent = getattr(client, "sent", 0) + 1
    number = f"{client.name}-{client.sent}"
    body = {"body": number, "delay_ms": client.rng.choice(delays_ms)}
    if client.chance(0.3):
        body["id"] = "id-" + number
    if client.chance(0.3):
        body["priority"] = client.rng.randrange(10)
    request = ("queue.send", name, "POST", f"/queues/{name}/messages")
    if client.chance(0.7):
        client.settle(*request, body=body)
    else:
        client.call(*request, body=body)


def produce(client):
    send(client, client.rng.choice(NAMES), (0, 0, 0, 50, 400))
    client.pause(0.005, 0.03)


def produce_for_waiters(client):
    send(client, AWAITED, (0,))
    client.pause(0.05, 0.25)


def receive(client, name, most, wait_ms, visibility_ms):
    """Receives messages. The same request acknowledges the messages of this queue that the worker
    has finished.
    """
    request = ("queue.receive", name, "POST", f"/queues/{name}/receive")
    body, done = {"limit": most, "wait_ms": wait_ms, "visibility_ms": visibility_ms}, done_by(client).pop(name, {})
    sent = {**body, "done": done}
    if done:
        body["settle"] = {"acknowledge": list(done)}
    ask = client.settle if client.chance(0.3) else client.call
    answer = ask(*request, sent=sent, body=body)
    return answer.body["messages"] if answer.is_ok else []


def done_by(client):
    """The messages that the next receive acknowledges: {queue: {receipt: body}}."""
    client.done = getattr(client, "done", {})
    return client.done


def acknowledge_next(client, name, message):
    done_by(client).setdefault(name, {})[message["receipt"]] = message["body"]


def of_delivery(name, message):
    return f"/queues/{name}/deliveries/{message['receipt']}"


def acknowledge(client, name, message, tries=3):
    for _ in range(tries):
        answer = client.call(
            "queue.acknowledge",
            name,
            "DELETE",
            of_delivery(name, message),
            sent={"receipt": message["receipt"], "body": message["body"]},
        )
        if answer.is_settled:
            return


def cancel(client, name, message):
    """Cancels a message in flight, although its worker may still acknowledge it."""
    client.call(
        "queue.cancel",
        name,
        "DELETE",
        f"/queues/{name}/messages/{message['id']}?in_flight=true",
        sent={"receipt": message["receipt"], "body": message["body"]},
    )


def work_on(client, name, message):
    fate = client.rng.random()
    sent = {"receipt": message["receipt"], "body": message["body"]}
    if fate < 0.06:  # the worker died
        return
    if fate < 0.12:
        counted = client.chance(0.5)
        client.call(
            "queue.reject",
            name,
            "POST",
            of_delivery(name, message) + "/reject",
            sent={**sent, "counted": counted},
            body={"delay_ms": client.rng.choice((0, 0, 50)), "counted": counted},
        )
        return
    if fate < 0.15:
        client.call(
            "queue.extend",
            name,
            "POST",
            f"/queues/{name}/extend",
            sent={**sent, "visibility_ms": 600, "is_one_of_many": True},
            body={"receipts": [message["receipt"]], "visibility_ms": 600},
        )
    elif fate < 0.18:
        ask = client.settle if client.chance(0.5) else client.call
        ask(
            "queue.extend",
            name,
            "POST",
            of_delivery(name, message) + "/extend",
            sent={**sent, "visibility_ms": 600},
            body={"visibility_ms": 600},
        )
    elif fate < 0.2:
        cancel(client, name, message)
        if client.chance(0.5):
            return
    elif fate < 0.24:  # too slow
        client.pause(0.3, 0.9)
    (acknowledge_next if client.chance(0.4) else acknowledge)(client, name, message)


def consume(client):
    name = client.rng.choice(NAMES)
    visibility_ms = client.rng.choice((400, 800, VISIBILITY_MOST_MS))
    for message in receive(
        client, name, client.rng.choice((1, 1, 3)), client.rng.choice((0, 200, 1000)), visibility_ms
    ):
        work_on(client, name, message)


def wait_and_consume(client):
    for message in receive(client, AWAITED, 1, 4000, VISIBILITY_MOST_MS):
        acknowledge_next(client, AWAITED, message)


def prepare(client):
    for name in (*NAMES, AWAITED):
        client.settle("queue.configure", name, "PUT", f"/queues/{name}", body=SETTINGS)


def finish(client):
    """Receives all messages that are left. The checks report a message that does not come in time.
    """
    until = time.monotonic() + 20
    for name in (*NAMES, AWAITED):
        while time.monotonic() < until:
            # A repeated request, whose answer is not read, may take messages: they soon return.
            for message in receive(client, name, 100, 0, 2000):
                acknowledge(client, name, message)
            counts = client.look("queue.final", name, f"/queues/{name}").body
            if not any(counts[state] for state in ("ready", "delayed", "in_flight")):
                break
            client.pause(0.05, 0.05)


WORKERS = ((3, produce), (5, consume), (1, produce_for_waiters), (3, wait_and_consume))
