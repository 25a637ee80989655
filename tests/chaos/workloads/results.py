"""Requests that wait for their result, and workers that complete them. A result names its message
and the delivery that produced it.
"""
NAME = "queue-results"
WAIT_MS, VISIBILITY_MS = 4000, 1500
SETTINGS = {"max_receives": 1000, "result_ms": 60000, "backoff": {"base_ms": 0, "max_ms": 0}}


def ask(client):
    client.asked = getattr(client, "asked", 0) + 1
    number = f"{client.name}-{client.asked}"
    body = {"id": number, "body": number, "wait_result_ms": WAIT_MS}
    for _ in range(client.rng.choice((1, 1, 2))):  # the second request is a duplicate, through any daemon
        client.call("result.ask", NAME, "POST", f"/queues/{NAME}/messages", body=body)
    client.pause(0.02, 0.2)


def work(client):
    body = {"limit": 2, "wait_ms": 1000, "visibility_ms": VISIBILITY_MS}
    received = client.call("result.receive", NAME, "POST", f"/queues/{NAME}/receive", body=body)
    for message in received.body["messages"] if received.is_ok else ():
        if client.chance(0.05):  # the worker died
            continue
        client.pause(0, 0.1)
        result = {"of": message["body"], "by": message["receipt"]}
        body = {"complete": [{"receipt": message["receipt"], "result": result}]}
        for _ in range(3):
            if client.call(
                "result.complete", NAME, "POST", f"/queues/{NAME}/settle", sent=result, body=body
            ).is_settled:
                break


def prepare(client):
    client.settle("result.configure", NAME, "PUT", f"/queues/{NAME}", body=SETTINGS)


def finish(client):
    client.look("result.final", NAME, f"/queues/{NAME}")


WORKERS = ((4, ask), (3, work))
