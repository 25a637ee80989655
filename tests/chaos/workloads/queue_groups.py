"""Queues with groups: a strict queue, a queue whose groups take turns, a queue with a concurrency
and a rate, and a queue that shares a policy with other callers. Messages of a group are
acknowledged, rejected, left until their visibility ends, dead-lettered and redriven, cancelled, or
purged, and groups are paused. Some messages expire.
"""
import time

from . import queues

STRICT, FAIR, LIMITED, SHARED = "groups-strict", "groups-fair", "groups-limited", "groups-shared"
GROUP_CONCURRENCY, CONCURRENCY = 2, 3
RATE = {"limit": 40, "window_ms": 1000, "burst": 5}
POLICY = {"name": "chaos-groups", "key": "shared"}
BUDGET = {"algorithm": "gcra", "limit": 8, "window_ms": 1000, "burst": 3}  # fewer messages than are sent
OWN = {
    STRICT: {"order": "strict"},
    FAIR: {"group_concurrency": GROUP_CONCURRENCY},
    LIMITED: {"concurrency": CONCURRENCY, "rate": RATE},
    SHARED: {"policy": POLICY},
}
PURGED = "purged"  # only messages of this group are purged


def send(client, name, group, **options):
    client.sent = getattr(client, "sent", 0) + 1
    number = f"{client.name}-{client.sent}"
    body = {"body": number, "id": "id-" + number, "group": group, "delay_ms": 0, **options}
    return number, client.settle("queue.send", name, "POST", f"/queues/{name}/messages", body=body)


def produce(client):
    name = client.rng.choice(list(OWN))
    group = client.rng.choice(("g0", "g1", "g2", PURGED))
    chance = client.rng.random()
    if name == FAIR and chance < 0.3:  # a backlog, and behind it one message that is alone in its group
        for _ in range(8):
            send(client, name, "g0")
        send(client, name, f"lone-{client.name}-{client.sent}")
    elif chance < 0.1:
        send(client, name, group, ttl_ms=client.rng.choice((30, 300)))
    elif chance < 0.2:
        send(client, name, group, delay_ms=client.rng.choice((50, 300)))
    else:
        number, answer = send(client, name, group)
        if answer.is_ok and client.chance(0.1):
            cancel(client, name, number)
    client.pause(0.01, 0.06)


def cancel(client, name, number):
    client.call("group.cancel", name, "DELETE", f"/queues/{name}/messages/id-{number}", sent={"body": number})


def consume(client):
    name = client.rng.choice(list(OWN))
    visibility_ms = client.rng.choice((400, 800, queues.VISIBILITY_MOST_MS))
    most, wait_ms = client.rng.choice((1, 1, 3, 10)), client.rng.choice((0, 200, 1000))
    for message in queues.receive(client, name, most, wait_ms, visibility_ms):
        if client.chance(0.06):
            sent = {"receipt": message["receipt"], "body": message["body"]}
            path = queues.of_delivery(name, message) + "/reject"
            client.call("queue.reject", name, "POST", path, sent=sent, body={"dead": True})
        else:
            queues.work_on(client, name, message)


def administer(client):
    """Redrives dead letters, purges and pauses groups, and spends the policy as another caller."""
    name = client.rng.choice(list(OWN))
    chance = client.rng.random()
    if chance < 0.3:
        client.call("queue.redrive", name, "POST", f"/queues/{name}/redrive", body={"limit": 100})
    elif chance < 0.4:
        client.call("queue.redrive", name, "POST", f"/queues/{name}/redrive", body={"group": "g1"})
    elif chance < 0.5:
        client.call("queue.purge", name, "POST", f"/queues/{name}/purge", body={"group": PURGED})
    elif chance < 0.7:
        path = f"/queues/{name}/groups/{client.rng.choice(('g0', 'g1'))}"
        client.call("queue.pause", name, "POST", path + "/pause", body={"for_ms": client.rng.choice((50, 300))})
        if client.chance(0.3):
            client.call("queue.resume", name, "POST", path + "/resume")
    else:
        body = {"policy": POLICY["name"], "key": POLICY["key"]}
        client.call("group.take", SHARED, "POST", "/ratelimit", body=body)
    client.pause(0.05, 0.2)


def prepare(client):
    client.settle("policy.put", POLICY["name"], "PUT", f"/ratelimit/policies/{POLICY['name']}", body=BUDGET)
    for name, own in OWN.items():
        client.settle("queue.configure", name, "PUT", f"/queues/{name}", body={**queues.SETTINGS, **own})


def finish(client):
    """Redrives dead letters, and receives all messages that are left, also those that the policy
    would not admit.
    """
    client.settle("queue.configure", SHARED, "PATCH", f"/queues/{SHARED}", body={"policy": None})
    until = time.monotonic() + 30
    for name in OWN:
        while time.monotonic() < until:
            client.call("queue.redrive", name, "POST", f"/queues/{name}/redrive", body={"limit": 100})
            for message in queues.receive(client, name, 100, 0, 2000):
                queues.acknowledge(client, name, message)
            counts = client.look("queue.final", name, f"/queues/{name}").body
            if not any(counts[state] for state in ("ready", "blocked", "delayed", "in_flight", "dead")):
                break
            client.pause(0.05, 0.05)


WORKERS = ((2, produce), (4, consume), (1, administer))
