"""Sales, one after the other: more callers than there is stock claim items, and then confirm their
claims, release them, or let them expire.
"""
STOCK, PER_USER, HOLD_MS, USERS = 40, 3, 700, 25
SECONDS_EACH = 3
SETTINGS = {"stock": STOCK, "per_user": PER_USER, "hold_ms": HOLD_MS}


def names(seconds):
    return [f"sale-{i}" for i in range(int(seconds / SECONDS_EACH) + 1)]


def buy(client):
    name = f"sale-{int(client.recorder.now_us() / 1e6 / SECONDS_EACH)}"
    if name not in client.sales:
        return client.pause(0.05, 0.1)
    body = {"user": f"user-{client.rng.randrange(USERS)}", "quantity": client.rng.choice((1, 1, 2))}
    request = ("sale.claim", name, "POST", f"/sales/{name}/claims")
    answer = client.settle(*request, body=body) if client.chance(0.5) else client.call(*request, body=body)
    if not answer.is_ok:
        return client.pause(0.01, 0.05)
    claim = answer.body["claim"]
    fate, sent = client.rng.random(), {"claim": claim, **body}
    client.pause(0, 0.3)
    if fate < 0.1:
        client.pause(HOLD_MS / 1000, 1.2 * HOLD_MS / 1000)
    if fate < 0.45:
        return client.settle("sale.confirm", name, "POST", f"/sales/{name}/claims/{claim}/confirm", sent=sent)
    if fate < 0.8:
        return client.call("sale.give_back", name, "DELETE", f"/sales/{name}/claims/{claim}", sent=sent)
    return None


def prepare(client):
    for name in client.sales:
        client.settle("sale.configure", name, "PUT", f"/sales/{name}", body=SETTINGS)


def finish(client):
    client.pause(HOLD_MS / 1000 + 0.1, HOLD_MS / 1000 + 0.1)
    for name in client.sales:
        client.look("sale.final", name, f"/sales/{name}")


WORKERS = ((5, buy),)
