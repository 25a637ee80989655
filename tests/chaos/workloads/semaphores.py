"""Semaphores: more callers than permits acquire permits, keep and extend them, release them in time
or too late, or let them expire.
"""
NAMES = [f"semaphore-{i}" for i in range(2)]
LIMIT = 3


def take_a_permit(client):
    name, ttl_ms = client.rng.choice(NAMES), client.rng.choice((200, 500, 900))
    request = ("semaphore.acquire", name, "POST", f"/semaphores/{name}/permits")
    body = {"limit": LIMIT, "ttl_ms": ttl_ms, "wait_ms": client.rng.choice((0, 0, 800))}
    answer = client.settle(*request, body=body) if client.chance(0.5) else client.call(*request, body=body)
    if not answer.is_ok:
        return client.pause(0.005, 0.05)
    permit, fate = answer.body["permit"], client.rng.random()
    path = f"/semaphores/{name}/permits/{permit}"
    client.pause(0, 0.4 * ttl_ms / 1000)
    if fate < 0.1:
        return None
    if fate < 0.2:
        client.pause(0.7 * ttl_ms / 1000, ttl_ms / 1000)
    elif fate < 0.4:
        ask = client.settle if client.chance(0.5) else client.call
        ask(
            "semaphore.extend",
            name,
            "POST",
            path + "/extend",
            sent={"permit": permit, "ttl_ms": ttl_ms},
            body={"ttl_ms": ttl_ms},
        )
    return client.call("semaphore.release", name, "DELETE", path, sent={"permit": permit})


def prepare(client):
    pass


def finish(client):
    pass


WORKERS = ((5, take_a_permit),)
