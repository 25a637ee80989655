"""What a message costs where many wait: a queue of a thousand beside one of a million, or of ten with --deep."""
import json

from contest import Contest, Contestant, Goal
from environment import ask
from queues import BODY
from wrk import wrk

SHALLOW = 1000
BATCH = 100
FILLING_CLIENTS = 8


def fill(url, queue, wanted):
    """Through the daemon, as anybody would."""
    text = json.dumps({"messages": [{"body": json.loads(BODY)}] * BATCH})
    post = wrk(f"{url}/queues/{queue}/messages", "fixed", "POST", text, clients=FILLING_CLIENTS)
    while ask("GET", f"{url}/queues/{queue}")["ready"] < wanted:
        post(2)


def contest(environment, deep):
    url = environment.url
    wanted = 10000000 if deep else 1000000
    for _ in range(SHALLOW // BATCH):
        ask("POST", f"{url}/queues/shallow/messages", {"messages": [{"body": json.loads(BODY)}] * BATCH})
    fill(url, "deep", wanted)
    there = ask("GET", f"{url}/queues/deep")["ready"]
    contestants = [Contestant(f"{count:,} wait", wrk(url, "queue_triples", "1", BODY, queue), (environment.daemon,))
                   for queue, count in (("shallow", SHALLOW), ("deep", there))]
    memory = int(next(line.split(":")[1] for line in environment.redis_cli("INFO", "memory").splitlines() if line.startswith("used_memory:")))
    return Contest("A message of a long queue", "message", contestants,
                   notes=[f"A waiting message of {len(BODY)} bytes takes {memory / there:.0f} bytes of Redis."])


def goals(contest):
    shallow, deep = (c.name for c in contest.contestants)
    return [Goal(f"Redis CPU of a message where {deep}, of that where {shallow}", contest.ratios("redis_us", deep, shallow), at_most=1.3)]
