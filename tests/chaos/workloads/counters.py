"""Counters: additions with an Idempotency-Key are retried until an answer comes, and additions
without one are sent once.
"""
NAMES = range(3)


def add_once(client):
    name = f"plain-{client.rng.choice(NAMES)}"
    client.call("counter.add", name, "POST", f"/counters/{name}/increment", body={"counters": {"n": 1}})
    client.pause(0, 0.01)


def add_until_answered(client):
    name = f"keyed-{client.rng.choice(NAMES)}"
    client.settle("counter.add", name, "POST", f"/counters/{name}/increment", body={"counters": {"n": 1}})
    client.pause(0, 0.01)


def finish(client):
    for kind in ("plain", "keyed"):
        for i in NAMES:
            client.look("counter.final", f"{kind}-{i}", f"/counters/{kind}-{i}")


def prepare(client):
    pass


WORKERS = ((3, add_once), (4, add_until_answered))
