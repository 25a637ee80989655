"""Locks: callers acquire, keep and extend them, release them in time or too late, or let them
expire. Some locks have many waiters.
"""
NAMES = [f"lock-{i}" for i in range(3)]
AWAITED = "awaited"
AWAITED_TTL_MS = 10000


def acquire(client, name, ttl_ms, wait_ms):
    """The grant, or None."""
    request = ("lock.acquire", name, "POST", f"/locks/{name}")
    body = {"ttl_ms": ttl_ms, "wait_ms": wait_ms, "owner": client.name}
    answer = client.settle(*request, body=body) if client.chance(0.5) else client.call(*request, body=body)
    return answer.body if answer.is_ok else None


def extend(client, name, token, ttl_ms):
    ask = client.settle if client.chance(0.5) else client.call
    sent = {"token": token, "ttl_ms": ttl_ms}
    ask(
        "lock.extend",
        name,
        "POST",
        f"/locks/{name}/extend",
        body={"ttl_ms": ttl_ms},
        sent=sent,
        headers={"Lock-Token": token},
    )


def release(client, name, token, tries=2):
    for _ in range(tries):
        answer = client.call(
            "lock.release", name, "DELETE", f"/locks/{name}", sent={"token": token}, headers={"Lock-Token": token}
        )
        if answer.is_settled and not (answer.is_ok and client.chance(0.1)):  # some release twice
            return


def take_and_keep(client):
    name, ttl_ms = client.rng.choice(NAMES), client.rng.choice((150, 300, 600, 1200))
    grant = acquire(client, name, ttl_ms, client.rng.choice((0, 0, 300, 1500)))
    if not grant:
        return client.pause(0.005, 0.05)
    fate = client.rng.random()
    if fate < 0.15:  # a holder that slept past its lease
        client.pause(1.05 * ttl_ms / 1000, 1.4 * ttl_ms / 1000)
        return release(client, name, grant["token"])
    if fate < 0.25:  # a holder that died
        return None
    client.pause(0, 0.4 * ttl_ms / 1000)
    if fate < 0.5:
        extend(client, name, grant["token"], client.rng.choice((150, 300, 600)))
        client.pause(0, 0.1)
    return release(client, name, grant["token"])


def wait_and_pass_on(client):
    """A lock that is always released: its waiters depend on being woken."""
    grant = acquire(client, AWAITED, AWAITED_TTL_MS, 5000)
    if not grant:
        return client.pause(0.005, 0.05)
    client.pause(0.01, 0.15)
    return release(client, AWAITED, grant["token"], tries=20)


def prepare(client):
    pass


def finish(client):
    pass


WORKERS = ((6, take_and_keep), (4, wait_and_pass_on))
