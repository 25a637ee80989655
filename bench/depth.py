"""What a message costs where many wait: a queue of a thousand beside one of a million, or of ten
with --deep.
"""
import json
import re

from contest import Contest, Contestant, Goal
from environment import ask, redis_cli
from queues import BODY, ORDER
from wrk import wrk

SHALLOW = 1000
BATCH = 100
FILLING_CLIENTS = 8


def fill(url, queue, wanted):
    """Through the daemon, as anybody would."""
    text = json.dumps({"messages": [{"body": ORDER}] * BATCH})
    post = wrk(f"{url}/queues/{queue}/messages", "fixed", "POST", text, clients=FILLING_CLIENTS)
    while ask("GET", f"{url}/queues/{queue}")["ready"] < wanted:
        post(2)


def contest(environment, deep):
    url = environment.url
    wanted = 10000000 if deep else 1000000
    for _ in range(SHALLOW // BATCH):
        ask("POST", f"{url}/queues/shallow/messages", {"messages": [{"body": ORDER}] * BATCH})
    fill(url, "deep", wanted)
    there = ask("GET", f"{url}/queues/deep")["ready"]
    contestants = [
        Contestant(f"{count:,} wait", wrk(url, "queue_triples", "1", BODY, queue), (environment.daemon,))
        for queue, count in (("shallow", SHALLOW), ("deep", there))
    ]
    memory = int(re.search(r"^used_memory:(\d+)", redis_cli(environment.redis, "INFO", "memory"), re.M)[1])
    return Contest(
        "A message of a long queue",
        "message",
        contestants,
        notes=[f"A waiting message of {len(BODY)} bytes takes {memory / there:.0f} bytes of Redis."],
    )


def goals(contest):
    shallow, deep = (c.name for c in contest.contestants)
    ratios = contest.ratios("redis_us", deep, shallow)
    return [Goal(f"Redis CPU of a message where {deep}, of that where {shallow}", ratios, at_most=1.3)]
