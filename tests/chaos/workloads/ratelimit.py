"""Rate limits: one limit per algorithm that many callers share, and limits of a single caller,
which waits exactly retry_after_ms.
"""
import time

SHARED = {
    "gcra": {"algorithm": "gcra", "limit": 20, "window_ms": 1000, "burst": 10},
    "sliding": {"algorithm": "sliding_window", "limit": 20, "window_ms": 1000},
    "fixed": {"algorithm": "fixed_window", "limit": 20, "window_ms": 1000},
}
LONE = {
    "gcra": {"algorithm": "gcra", "limit": 10, "window_ms": 1000, "burst": 3},
    "sliding": {"algorithm": "sliding_window", "limit": 5, "window_ms": 500},
    "fixed": {"algorithm": "fixed_window", "limit": 5, "window_ms": 500},
}


def hammer(client):
    name = client.rng.choice(sorted(SHARED))
    client.call("limit.take", name, "POST", "/ratelimit", body={"key": "shared-" + name, **SHARED[name]})
    client.pause(0.005, 0.04)


def wait_retry_after(client):
    """Spends the limit, waits for retry_after_ms, and must then be admitted. Ends when an outcome
    is unknown, because that call may still count; the next round has another key.
    """
    name = client.rng.choice(sorted(LONE))
    client.keys += 1
    body = {"key": f"lone-{client.name}-{client.keys}", **LONE[name]}
    waited = False
    for _ in range(20):
        answer = client.call(
            "limit.lone", body["key"], "POST", "/ratelimit", body=body, sent={**body, "waited": waited}
        )
        waited = answer.status == 429
        if waited:
            time.sleep(answer.body["retry_after_ms"] / 1000)
        elif answer.effect == "unknown" or client.is_stopping.is_set():
            return


def prepare(client):
    pass


def finish(client):
    pass


WORKERS = ((4, hammer), (3, wait_retry_after))
