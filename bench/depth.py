"""The cost of a message in a long queue: a queue of a thousand messages beside one of a million,
of ten million with --deep, or of ten thousand with --brief. Redis gets at most three quarters of
the free memory.
"""
import json
import pathlib
import re

from contest import Contest, Contestant, Goal
from environment import ask, redis_cli
from queues import BODY, ORDER
from wrk import wrk

SHALLOW = 1000
BATCH = 100
FILLING_CLIENTS = 8
FREE = 0.75


def used_memory(redis):
    return int(re.search(r"^used_memory:(\d+)", redis_cli(redis, "INFO", "memory"), re.M)[1])


def limit_memory(redis):
    """Limits Redis to `most` bytes, and returns this number. Redis refuses more (507), so a full
    Redis ends the contest and does not harm the machine.
    """
    free = re.search(r"^MemAvailable:\s*(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)
    most = int(int(free[1]) * 1024 * FREE)
    redis_cli(redis, "CONFIG", "SET", "maxmemory", str(most))
    return most


def fill(environment, queue, wanted):
    """Sends messages through the daemon, as any client does. Raises as soon as the first messages
    show that not all of them fit.
    """
    url, redis, most = environment.url, environment.redis, limit_memory(environment.redis)
    text = json.dumps({"messages": [{"body": ORDER}] * BATCH})
    post = wrk(f"{url}/queues/{queue}/messages", "fixed", "POST", text, clients=FILLING_CLIENTS)
    count = 0
    while count < wanted:
        post(1)
        count = ask("GET", f"{url}/queues/{queue}")["ready"]
        each = used_memory(redis) / count
        if each * wanted > most:
            raise RuntimeError(f"{wanted:,} messages of {each:.0f} bytes do not fit into {most / 2**30:.1f} GiB")


def contest(environment, wanted):
    url = environment.url
    for _ in range(SHALLOW // BATCH):
        ask("POST", f"{url}/queues/shallow/messages", {"messages": [{"body": ORDER}] * BATCH})
    fill(environment, "deep", wanted)
    there = ask("GET", f"{url}/queues/deep")["ready"]
    contestants = [
        Contestant(f"{count:,} wait", wrk(url, "queue_turns", "1", BODY, queue), (environment.daemon,))
        for queue, count in (("shallow", SHALLOW), ("deep", there))
    ]
    memory = used_memory(environment.redis)
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
